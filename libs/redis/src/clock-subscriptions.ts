import { randomUUID } from 'node:crypto';
import { unavailable } from '#contracts';
import type { Cluster, Redis } from 'ioredis';
import { clockChannel } from './clock-notifier.js';
import { LastState, type Log, withTimeLimit } from '#runtime';

/** Callbacks of {@link ClockSubscriptions}. */
interface ClockEvents {
  /** Called when a user's clock has advanced to `stamp`. Can be late, repeated or unordered. */
  onNotification(userId: string, stamp: string): void;
  /**
   * Called when heartbeats arrive again after a loss. All subscriptions have ended, and
   * notifications can be missing.
   */
  onReconnected(): void;
}

/** Times in ms of the heartbeats that {@link ClockSubscriptions} sends to itself through Redis. */
export interface HeartbeatTimings {
  readonly heartbeatIntervalMs: number;
  /** Time without a heartbeat after which the connection counts as lost. */
  readonly heartbeatTimeoutMs: number;
}
const defaultTimings: HeartbeatTimings = {
  heartbeatIntervalMs: 1_000,
  heartbeatTimeoutMs: 10_000,
};

/** Time in ms after which a subscription fails if Redis has not confirmed it. */
const confirmLimitMs = 2_000;

/**
 * Subscribes to users' clocks, each from {@link subscribe} until {@link unsubscribe} (ADR 26).
 * Invariants:
 * - Each user has a channel, so Redis sends only the notifications of subscribed users.
 * - A lost connection, a lost heartbeat, or 10 s without a heartbeat ends all subscriptions. When
 *   heartbeats arrive again, it calls `onReconnected`.
 */
export class ClockSubscriptions {
  /** Redis channel of the heartbeats of this object. */
  private readonly heartbeatChannel = `clock:listener:${randomUUID()}`;
  /** Subscriptions by user id; each promise resolves when Redis has confirmed the subscription. */
  private readonly subscriptions = new Map<string, Promise<unknown>>();
  private readonly channelPrefix = clockChannel('');
  private readonly lastState = new LastState<'connected' | 'disconnected'>('disconnected');
  private readonly heartbeatTimer: NodeJS.Timeout;
  private heartbeatReceivedAt = performance.now();
  private heartbeatSentAt = Number.NEGATIVE_INFINITY;
  /** True from a disconnection until `onReconnected` is called. */
  private hasUnreportedLoss = false;
  /** Sequence number of the last sent heartbeat. */
  private lastSentHeartbeat = 0;
  /** Sequence number of the last received heartbeat; undefined while disconnected. */
  private lastReceivedHeartbeat: number | undefined;

  /** @param redis connection for subscriptions only. @param writer connection for heartbeats. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly writer: Redis | Cluster,
    private readonly events: ClockEvents,
    private readonly log: Log,
    private readonly timings = defaultTimings,
  ) {
    for (const connection of [redis, writer]) connection.on('error', () => {});
    redis.on('message', (channel: string, message: string) => {
      if (channel === this.heartbeatChannel) return this.onHeartbeat(Number(message));
      const userId = channel.slice(this.channelPrefix.length);
      if (this.subscriptions.has(userId)) this.events.onNotification(userId, message);
      // Unsubscribes again, because a Cluster restores ended subscriptions after a reconnect.
      else this.redis.unsubscribe(channel).catch(() => {});
    });
    redis.on('close', () => this.onDisconnected());
    redis.on('ready', () => void this.subscribeTo(this.heartbeatChannel).catch(() => {}));
    this.heartbeatTimer = setInterval(
      () => this.sendHeartbeat(),
      timings.heartbeatIntervalMs,
    ).unref();
  }

  /** True while the heartbeats of this object arrive. */
  get isUp(): boolean {
    return this.lastState.state === 'connected';
  }

  /** Number of subscribed users. */
  get size(): number {
    return this.subscriptions.size;
  }

  /**
   * Subscribes to the clock of a user, until {@link unsubscribe}. Resolves when Redis has confirmed
   * the subscription. Notifications sent before that can be missed.
   *
   * @throws Failure `unavailable` if Redis does not confirm the subscription in time.
   */
  async subscribe(userId: string): Promise<void> {
    const existing = this.subscriptions.get(userId);
    const confirmation = existing ?? this.subscribeTo(clockChannel(userId));
    if (!existing) {
      this.subscriptions.set(userId, confirmation);
      confirmation.catch(() => {
        if (this.subscriptions.get(userId) === confirmation) this.subscriptions.delete(userId);
      });
    }
    await confirmation.catch((error: unknown) => {
      throw unavailable('subscription to changes not confirmed', error);
    });
  }

  unsubscribe(userId: string): void {
    if (!this.subscriptions.delete(userId)) return;
    this.redis.unsubscribe(clockChannel(userId)).catch(() => {});
  }

  close(): void {
    clearInterval(this.heartbeatTimer);
    this.redis.removeAllListeners('close');
    this.redis.disconnect();
    this.writer.disconnect();
  }

  private async subscribeTo(channel: string): Promise<void> {
    await withTimeLimit(this.redis.subscribe(channel), confirmLimitMs);
    if (channel === this.heartbeatChannel) this.sendHeartbeat();
  }

  /** Sends a heartbeat. Reconnects if no heartbeat has arrived for `heartbeatTimeoutMs`. */
  private sendHeartbeat(): void {
    const now = performance.now();
    const { heartbeatTimeoutMs } = this.timings;
    // Sends fewer heartbeats without subscriptions, but enough to keep the connections open.
    if (
      this.subscriptions.size === 0 &&
      this.isUp &&
      now - this.heartbeatSentAt < heartbeatTimeoutMs / 2
    )
      return;
    this.heartbeatSentAt = now;
    if (now - this.heartbeatReceivedAt > heartbeatTimeoutMs && this.isUp) {
      this.onDisconnected();
      this.redis.disconnect(true);
    }
    if (this.redis.status !== 'ready') return;
    // Subscribes again if no heartbeats arrive, as a Cluster can replace its connection silently.
    if (!this.isUp) this.redis.subscribe(this.heartbeatChannel).catch(() => {});
    this.writer
      .publish(this.heartbeatChannel, String((this.lastSentHeartbeat += 1)))
      .catch(() => {});
    // The ping detects a dead connection. Otherwise a connection for subscriptions sends nothing.
    this.redis.ping().catch(() => {});
  }

  private onHeartbeat(heartbeat: number): void {
    // Treats a missing heartbeat as a disconnection, because notifications can be missing too.
    if (this.lastReceivedHeartbeat !== undefined && heartbeat !== this.lastReceivedHeartbeat + 1)
      this.onDisconnected();
    this.lastReceivedHeartbeat = heartbeat;
    this.heartbeatReceivedAt = performance.now();
    if (!this.lastState.changeTo('connected')) return;
    if (!this.hasUnreportedLoss) return;
    this.hasUnreportedLoss = false;
    this.log.info(
      { outage: 'Redis' },
      'change notifications received again: open change streams end, so that clients reconnect',
    );
    this.events.onReconnected();
  }

  private onDisconnected(): void {
    // Reports a loss also before the first heartbeat, if users are already subscribed.
    if (this.lastState.changeTo('disconnected') || this.subscriptions.size > 0) {
      if (!this.hasUnreportedLoss)
        this.log.warn(
          { outage: 'Redis' },
          'change notifications lost, Redis disconnected or slow: open change streams send no ' +
            'changes, and new ones are refused, until Redis is available',
        );
      this.hasUnreportedLoss = true;
    }
    this.subscriptions.clear();
    this.lastReceivedHeartbeat = undefined;
  }
}
