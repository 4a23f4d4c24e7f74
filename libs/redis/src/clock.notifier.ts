import type { Cluster, Redis } from 'ioredis';
import { Condition, type Log } from '#runtime';

/** Returns the channel of a user's clock. Never change it: the previous release uses the same. */
export function clockChannel(userId: string): string {
  return `clock:${userId}`;
}

/** Maximum notifications that Redis has not answered. Further notifications are dropped. */
const maxUnanswered = 1_000;

/**
 * Publishes users' clock stamps to the gateways (ADR 26). A client that misses a notification
 * polls. So a notification never blocks its caller, is never sent twice, and never fails a write.
 */
export class ClockNotifier {
  /** Counts of notifications, for metrics; `dropped` while Redis is disconnected or slow. */
  readonly counts = { sent: 0, dropped: 0 };
  private unanswered = 0;
  private readonly condition = new Condition<'sent' | 'dropped'>('sent');

  /** @param redis a connection without an offline queue; {@link close} closes it. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly log: Log,
  ) {
    // The method `notify` counts and logs failures.
    redis.on('error', () => {});
  }

  /** Publishes the stamp of a user's clock. Call it after the commit. Never throws. */
  notify(userId: string, stamp: string): void {
    if (this.redis.status !== 'ready' || this.unanswered >= maxUnanswered) return this.drop();
    this.unanswered += 1;
    this.redis.publish(clockChannel(userId), stamp).then(
      () => {
        this.unanswered -= 1;
        this.counts.sent += 1;
        if (this.condition.becomes('sent'))
          this.log.info({ outage: 'Redis' }, 'change notifications resumed');
      },
      (error: unknown) => {
        this.unanswered -= 1;
        this.drop(error);
      },
    );
  }

  close(): void {
    this.redis.disconnect();
  }

  private drop(error?: unknown): void {
    this.counts.dropped += 1;
    if (this.condition.becomes('dropped'))
      this.log.warn(
        { outage: 'Redis', err: error },
        'change notifications dropped: clients poll instead',
      );
  }
}
