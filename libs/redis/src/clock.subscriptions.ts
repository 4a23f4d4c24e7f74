import { randomUUID } from 'node:crypto';
import { unavailable } from '#contracts';
import type { Cluster, Redis } from 'ioredis';
import { clockChannel } from './clock.notifier.js';
import { Condition, type Log, withTimeLimit } from '#runtime';

interface ClockEvents {
  /** A user's clock advanced to this stamp. Calls can be late, repeated and out of order. */
  onNotification(userId: string, stamp: string): void;
  /** Redis is available again. Notifications can have been lost; all subscriptions are gone. */
  onLost(): void;
}

/** Interval of heartbeats to itself, and the timeout for one to arrive, in milliseconds. */
export interface HeartbeatTimings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}
const defaultTimings: HeartbeatTimings = { intervalMs: 1_000, timeoutMs: 10_000 };

/** Time limit for Redis to confirm a subscription, in milliseconds. */
const confirmLimitMs = 2_000;

/**
 * Subscribes to users' clocks, each from {@link listen} until {@link forget} (ADR 26). Invariants:
 * - Redis only sends notifications of its users: each user has a channel.
 * - It reports possible losses: a lost connection, or 10 s without its own heartbeat, such as when
 *   the server no longer receives publications. It then drops all its subscriptions.
 */
export class ClockSubscriptions {
  private readonly self = `clock:listener:${randomUUID()}`;
  /** Subscribed users, with the confirmation by Redis. */
  private readonly users = new Map<string, Promise<unknown>>();
  private readonly prefix = clockChannel('');
  private readonly condition = new Condition<'connected' | 'disconnected'>('disconnected');
  private readonly timer: NodeJS.Timeout;
  private heartbeatAt = performance.now();
  /** True from a disconnection until it is reported. */
  private hasLost = false;
  /** Number of heartbeats sent, and the last one received since the subscription. */
  private sent = 0;
  private lastHeartbeat: number | undefined;

  /** @param redis receives and sends nothing else. @param writer sends. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly writer: Redis | Cluster,
    private readonly events: ClockEvents,
    private readonly log: Log,
    private readonly timings = defaultTimings,
  ) {
    for (const connection of [redis, writer]) connection.on('error', () => {});
    redis.on('message', (channel: string, message: string) => {
      if (channel === this.self) return this.onHeartbeat(Number(message));
      const userId = channel.slice(this.prefix.length);
      if (this.users.has(userId)) this.events.onNotification(userId, message);
      // A Cluster restores the subscriptions it had before a loss.
      else this.redis.unsubscribe(channel).catch(() => {});
    });
    redis.on('close', () => this.onDisconnected());
    redis.on('ready', () => void this.subscribe(this.self).catch(() => {}));
    this.timer = setInterval(() => this.check(), timings.intervalMs).unref();
  }

  /** True while its own heartbeats arrive. */
  get isUp(): boolean {
    return this.condition.state === 'connected';
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
    const existing = this.users.get(userId);
    const confirmation = existing ?? this.subscribe(clockChannel(userId));
    if (!existing) {
      this.users.set(userId, confirmation);
      confirmation.catch(() => {
        if (this.users.get(userId) === confirmation) this.users.delete(userId);
      });
    }
    await confirmation.catch((error: unknown) => {
      throw unavailable('subscription to changes not confirmed', error);
    });
  }

  forget(userId: string): void {
    if (!this.users.delete(userId)) return;
    this.redis.unsubscribe(clockChannel(userId)).catch(() => {});
  }

  close(): void {
    clearInterval(this.timer);
    this.redis.removeAllListeners('close');
    this.redis.disconnect();
    this.writer.disconnect();
  }

  private async subscribe(channel: string): Promise<void> {
    await withTimeLimit(this.redis.subscribe(channel), confirmLimitMs);
    if (channel === this.self) this.check();
  }

  /** Sends a heartbeat, and reconnects if none has arrived for `timeoutMs`. */
  private check(): void {
    if (performance.now() - this.heartbeatAt > this.timings.timeoutMs && this.isUp) {
      this.onDisconnected();
      this.redis.disconnect(true);
    }
    if (this.redis.status !== 'ready') return;
    // A Cluster silently replaces its connection for subscriptions.
    if (!this.isUp) this.redis.subscribe(this.self).catch(() => {});
    this.writer.publish(this.self, String((this.sent += 1))).catch(() => {});
    // Without the ping, a dead connection that only receives would stay undetected.
    this.redis.ping().catch(() => {});
  }

  private onHeartbeat(heartbeat: number): void {
    // A gap between two heartbeats can also have lost notifications.
    if (this.lastHeartbeat !== undefined && heartbeat !== this.lastHeartbeat + 1)
      this.onDisconnected();
    this.lastHeartbeat = heartbeat;
    this.heartbeatAt = performance.now();
    if (!this.condition.becomes('connected')) return;
    if (!this.hasLost) return;
    this.hasLost = false;
    this.log.info({ outage: 'Redis' }, 'change subscription available again');
    this.events.onLost();
  }

  private onDisconnected(): void {
    // Users can be subscribed before the first heartbeat arrives.
    if (this.condition.becomes('disconnected') || this.users.size > 0) {
      if (!this.hasLost)
        this.log.warn({ outage: 'Redis' }, 'change subscription unavailable: Redis disconnected');
      this.hasLost = true;
    }
    this.users.clear();
    this.lastHeartbeat = undefined;
  }
}
