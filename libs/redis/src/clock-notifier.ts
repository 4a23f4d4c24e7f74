import type { Cluster, Redis } from 'ioredis';
import { LastState, type Log } from '#runtime';

/**
 * Returns the Redis channel of a user's clock. Never change it, because two releases run together
 * during an upgrade.
 */
export function clockChannel(userId: string): string {
  return `clock:${userId}`;
}

/** Maximum notifications that wait for an answer of Redis; further ones are dropped. */
const maxUnanswered = 1_000;

/**
 * Notifies the gateways when a user's clock advances (ADR 26). Clients poll if notifications are
 * missing, so a notification never delays or fails a write, and is never sent twice.
 */
export class ClockNotifier {
  /** Numbers of notifications: sent to Redis, and dropped because it was unavailable or slow. */
  readonly counts = { sent: 0, dropped: 0 };
  private unanswered = 0;
  private readonly lastState = new LastState<'sent' | 'dropped'>('sent');

  /** @param redis connection without an offline queue. {@link close} closes it. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly log: Log,
  ) {
    // Ignores errors of the connection, because `notify` counts and logs failures.
    redis.on('error', () => {});
  }

  /** Publishes the stamp of a user's clock after a commit; drops it without Redis. Never throws. */
  notify(userId: string, stamp: string): void {
    if (this.redis.status !== 'ready' || this.unanswered >= maxUnanswered) return this.recordDrop();
    this.unanswered += 1;
    this.redis.publish(clockChannel(userId), stamp).then(
      () => {
        this.unanswered -= 1;
        this.counts.sent += 1;
        if (this.lastState.changeTo('sent'))
          this.log.info(
            { outage: 'Redis' },
            'sending of change notifications resumed, dropped ones are lost: Redis available again',
          );
      },
      (error: unknown) => {
        this.unanswered -= 1;
        this.recordDrop(error);
      },
    );
  }

  close(): void {
    this.redis.disconnect();
  }

  private recordDrop(error?: unknown): void {
    this.counts.dropped += 1;
    if (this.lastState.changeTo('dropped'))
      this.log.warn(
        { outage: 'Redis', err: error },
        'change notifications not sent, clients must poll: Redis unavailable or slow',
      );
  }
}
