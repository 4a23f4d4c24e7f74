import { randomUUID } from 'node:crypto';
import { unavailable } from '#contracts';
import type { Cluster, Redis } from 'ioredis';
import { clockChannel } from './clock.hints.js';
import { Condition, type Log, withTimeLimit } from '#runtime';

/** What a listener is told. */
interface ClockEvents {
  /** A user's clock was moved to this stamp. Hints may come late, twice and in any order. */
  onHint(userId: string, stamp: string): void;
  /** Hints may have been lost: of everybody who was listened to, and nobody is any more. Called when Redis is there again. */
  onLost(): void;
}

/** How often it makes sure that it hears, and how long it believes so, in milliseconds. */
export interface ListenerPace {
  readonly beatMs: number;
  readonly deafMs: number;
}
const usual: ListenerPace = { beatMs: 1_000, deafMs: 10_000 };

/** How long Redis may take to confirm that a user is listened to, in milliseconds. */
const confirmLimitMs = 2_000;

/**
 * Hears of users' clocks, each from when it is asked to until it is told to forget (ADR 26). Invariants:
 * - Redis sends it what concerns its users, and nothing of others: each user has a channel, which is followed while somebody
 *   here wants to know.
 * - It tells when it may have missed something: its connection was lost, or it misses one of the words that it sends to
 *   itself, as behind a server that nobody publishes to any more. It forgets all its users then.
 */
export class ClockListener {
  private readonly self = `clock:listener:${randomUUID()}`;
  /** Users who are listened to, with when Redis has confirmed it. */
  private readonly users = new Map<string, Promise<unknown>>();
  private readonly prefix = clockChannel('');
  private readonly condition = new Condition<'hears' | 'deaf'>('deaf');
  private readonly beat: NodeJS.Timeout;
  private heardAt = performance.now();
  private hasHeard = false;
  /** Words that it sent to itself, and the last one that it heard since it listens. */
  private sent = 0;
  private last: number | undefined;

  /**
   * @param redis the connection that receives, by which nothing else is sent.
   * @param writer one that sends.
   */
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
      // A Cluster follows again by itself what was followed before a loss.
      else this.redis.unsubscribe(channel).catch(() => {});
    });
    redis.on('close', () => this.lose());
    redis.on('ready', () => void this.hear(this.self).catch(() => {}));
    this.beat = setInterval(() => this.check(), pace.beatMs).unref();
  }

  /** Whether it is sure to hear. */
  get isUp(): boolean {
    return this.condition.state === 'hears';
  }

  /** Users who are listened to. */
  get size(): number {
    return this.users.size;
  }

  /**
   * Listens to a user, until {@link forget}. Resolves when no later hint is missed.
   *
   * @throws Failure `unavailable` where Redis can't confirm it soon.
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

  /** Stops listening to a user. */
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

  /** Sends itself a word, and gives up the connection where it has heard none for long. */
  private check(): void {
    if (performance.now() - this.heardAt > this.pace.deafMs && this.isUp) {
      this.lose();
      this.redis.disconnect(true);
    }
    if (this.redis.status !== 'ready') return;
    // A Cluster subscribes by a connection that it replaces without a word.
    if (!this.isUp) this.redis.subscribe(this.self).catch(() => {});
    this.writer.publish(this.self, String((this.sent += 1))).catch(() => {});
    // Else a connection on which nothing comes would never be known to be dead.
    this.redis.ping().catch(() => {});
  }

  private heard(word: number): void {
    // What went missing between two words may have been more than a word.
    if (this.last !== undefined && word !== this.last + 1) this.lose();
    this.last = word;
    this.heardAt = performance.now();
    if (!this.condition.becomes('hears')) return;
    if (this.hasHeard) {
      this.log.info('changes are heard of again');
      this.events.onLost();
    }
    this.hasHeard = true;
  }

  private lose(): void {
    if (this.condition.becomes('deaf')) this.log.warn('changes are not heard of, as Redis is away');
    this.users.clear();
    this.last = undefined;
  }
}
