import { randomUUID } from 'node:crypto';
import { unavailable } from '#contracts';
import type { Cluster, Redis } from 'ioredis';
import { clockChannel } from './clock.hints.js';
import { Condition, type Log, withTimeLimit } from '#runtime';

interface ClockEvents {
  /** A user's clock advanced to this stamp. Calls can be late, repeated and out of order. */
  onHint(userId: string, stamp: string): void;
  /** Redis is available again. Notifications can have been lost; all subscriptions are gone. */
  onLost(): void;
}

/** Interval of the listener's own heartbeat, and the timeout for it, in milliseconds. */
export interface ListenerPace {
  readonly beatMs: number;
  readonly deafMs: number;
}
const usual: ListenerPace = { beatMs: 1_000, deafMs: 10_000 };

/** Time limit for Redis to confirm a subscription, in milliseconds. */
const confirmLimitMs = 2_000;

/**
 * Subscribes to users' clocks, each from {@link listen} until {@link forget} (ADR 26). Invariants:
 * - Redis only sends notifications of its users: each user has a channel.
 * - It reports possible losses: a lost connection, or a missing heartbeat of its own, as behind a
 *   server that no longer receives publications. It then drops all its subscriptions.
 */
export class ClockListener {
  private readonly self = `clock:listener:${randomUUID()}`;
  /** Subscribed users, with the confirmation by Redis. */
  private readonly users = new Map<string, Promise<unknown>>();
  private readonly prefix = clockChannel('');
  private readonly condition = new Condition<'hears' | 'deaf'>('deaf');
  private readonly beat: NodeJS.Timeout;
  private heardAt = performance.now();
  private hasHeard = false;
  /** Number of heartbeats sent, and the last one received since the subscription. */
  private sent = 0;
  private last: number | undefined;

  /** @param redis receives and sends nothing else. @param writer sends. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly writer: Redis | Cluster,
    private readonly events: ClockEvents,
    private readonly log: Log,
    private readonly pace = usual,
  ) {
    for (const connection of [redis, writer]) connection.on('error', () => {});
    redis.on('message', (channel: string, message: string) => {
      if (channel === this.self) return this.heard(Number(message));
      const userId = channel.slice(this.prefix.length);
      if (this.users.has(userId)) this.events.onHint(userId, message);
      // A Cluster restores the subscriptions it had before a loss.
      else this.redis.unsubscribe(channel).catch(() => {});
    });
    redis.on('close', () => this.lose());
    redis.on('ready', () => void this.hear(this.self).catch(() => {}));
    this.beat = setInterval(() => this.check(), pace.beatMs).unref();
  }

  /** True while its own heartbeats arrive. */
  get isUp(): boolean {
    return this.condition.state === 'hears';
  }

  get size(): number {
    return this.users.size;
  }

  /**
   * Subscribes to a user, until {@link forget}. Resolves when no later notification is missed.
   *
   * @throws Failure `unavailable` if Redis does not confirm it within the time limit.
   */
  async listen(userId: string): Promise<void> {
    const known = this.users.get(userId);
    const asked = known ?? this.hear(clockChannel(userId));
    if (!known) {
      this.users.set(userId, asked);
      asked.catch(() => {
        if (this.users.get(userId) === asked) this.users.delete(userId);
      });
    }
    await asked.catch((error: unknown) => {
      throw unavailable('changes can not be heard of', error);
    });
  }

  forget(userId: string): void {
    if (!this.users.delete(userId)) return;
    this.redis.unsubscribe(clockChannel(userId)).catch(() => {});
  }

  close(): void {
    clearInterval(this.beat);
    this.redis.removeAllListeners('close');
    this.redis.disconnect();
    this.writer.disconnect();
  }

  private async hear(channel: string): Promise<void> {
    await withTimeLimit(this.redis.subscribe(channel), confirmLimitMs);
    if (channel === this.self) this.check();
  }

  /** Sends a heartbeat, and reconnects if none has arrived for `deafMs`. */
  private check(): void {
    if (performance.now() - this.heardAt > this.pace.deafMs && this.isUp) {
      this.lose();
      this.redis.disconnect(true);
    }
    if (this.redis.status !== 'ready') return;
    // A Cluster silently replaces its connection for subscriptions.
    if (!this.isUp) this.redis.subscribe(this.self).catch(() => {});
    this.writer.publish(this.self, String((this.sent += 1))).catch(() => {});
    // Without the ping, a dead connection that only receives would stay undetected.
    this.redis.ping().catch(() => {});
  }

  private heard(word: number): void {
    // A gap between two heartbeats can also have lost notifications.
    if (this.last !== undefined && word !== this.last + 1) this.lose();
    this.last = word;
    this.heardAt = performance.now();
    if (!this.condition.becomes('hears')) return;
    if (this.hasHeard) {
      this.log.info({ outage: 'Redis' }, 'changes are heard of again');
      this.events.onLost();
    }
    this.hasHeard = true;
  }

  private lose(): void {
    if (this.condition.becomes('deaf'))
      this.log.warn({ outage: 'Redis' }, 'changes are not heard of, as Redis is away');
    this.users.clear();
    this.last = undefined;
  }
}
