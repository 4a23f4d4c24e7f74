import { randomUUID } from 'node:crypto';
import { unavailable } from '#contracts';
import type { Cluster, Redis } from 'ioredis';
import { clockChannel } from './clock.notifier.js';
import { Condition, type Log, withTimeLimit } from '#runtime';

interface ClockEvents {
  /** A user's clock advanced to this stamp. Calls can be late, repeated and out of order. */
  onNotification(userId: string, stamp: string): void;
  /** Redis is available again. Notifications can be lost, and all subscriptions have ended. */
  onReconnected(): void;
}

/**
 * Interval of the heartbeats that {@link ClockSubscriptions} sends to itself through Redis, and the
 * maximum time without a heartbeat, in milliseconds.
 */
export interface HeartbeatTimings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}
const defaultTimings: HeartbeatTimings = { intervalMs: 1_000, timeoutMs: 10_000 };

/** Time limit for Redis to confirm a subscription, in milliseconds. */
const confirmLimitMs = 2_000;

/**
 * Subscribes to users' clocks, each from {@link subscribe} until {@link unsubscribe} (ADR 26).
 * Invariants:
 * - Each user has a channel, so Redis sends only the notifications of subscribed users.
 * - A lost connection, a lost heartbeat, or 10 s without a heartbeat ends all subscriptions. When
 *   heartbeats arrive again, `onReconnected` is called.
 */
export class ClockSubscriptions {
  /** Channel of its own heartbeats. */
  private readonly self = `clock:listener:${randomUUID()}`;
  /** Subscribed users, with the promise of the confirmation by Redis. */
  private readonly users = new Map<string, Promise<unknown>>();
  private readonly prefix = clockChannel('');
  private readonly condition = new Condition<'connected' | 'disconnected'>('disconnected');
  private readonly timer: NodeJS.Timeout;
  private heartbeatAt = performance.now();
  private sentAt = Number.NEGATIVE_INFINITY;
  /** True from a disconnection until it is reported. */
  private hasLost = false;
  /** Number of the last heartbeat sent, and of the last received since the subscription. */
  private sent = 0;
  private lastHeartbeat: number | undefined;

  /** @param redis a connection for subscriptions only. @param writer publishes heartbeats. */
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
      // After a loss, a Cluster restores its old subscriptions, which can have ended here.
      else this.redis.unsubscribe(channel).catch(() => {});
    });
    redis.on('close', () => this.onDisconnected());
    redis.on('ready', () => void this.subscribeTo(this.self).catch(() => {}));
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
   * Subscribes to a user, until {@link unsubscribe}. Resolves when no later notification is missed.
   *
   * @throws Failure `unavailable` if Redis does not confirm it within the time limit.
   */
  async subscribe(userId: string): Promise<void> {
    const existing = this.users.get(userId);
    const confirmation = existing ?? this.subscribeTo(clockChannel(userId));
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

  unsubscribe(userId: string): void {
    if (!this.users.delete(userId)) return;
    this.redis.unsubscribe(clockChannel(userId)).catch(() => {});
  }

  close(): void {
    clearInterval(this.timer);
    this.redis.removeAllListeners('close');
    this.redis.disconnect();
    this.writer.disconnect();
  }

  private async subscribeTo(channel: string): Promise<void> {
    await withTimeLimit(this.redis.subscribe(channel), confirmLimitMs);
    if (channel === this.self) this.check();
  }

  /** Sends a heartbeat, and reconnects if none has arrived for `timeoutMs`. */
  private check(): void {
    const now = performance.now();
    const { timeoutMs } = this.timings;
    // Without subscriptions there is nothing to lose; half the timeout keeps the connections open.
    if (this.users.size === 0 && this.isUp && now - this.sentAt < timeoutMs / 2) return;
    this.sentAt = now;
    if (now - this.heartbeatAt > timeoutMs && this.isUp) {
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
    // If a heartbeat was lost, notifications can be lost too.
    if (this.lastHeartbeat !== undefined && heartbeat !== this.lastHeartbeat + 1)
      this.onDisconnected();
    this.lastHeartbeat = heartbeat;
    this.heartbeatAt = performance.now();
    if (!this.condition.becomes('connected')) return;
    if (!this.hasLost) return;
    this.hasLost = false;
    this.log.info({ outage: 'Redis' }, 'clock notifications available again');
    this.events.onReconnected();
  }

  private onDisconnected(): void {
    // Users can be subscribed before the first heartbeat arrives.
    if (this.condition.becomes('disconnected') || this.users.size > 0) {
      if (!this.hasLost)
        this.log.warn(
          { outage: 'Redis' },
          'clock notifications unavailable: clients of change streams get none',
        );
      this.hasLost = true;
    }
    this.users.clear();
    this.lastHeartbeat = undefined;
  }
}
