import type { Cluster, Redis } from 'ioredis';
import { LastState, type Log } from '#runtime';

/** Returns the Redis channel of a user's clock. Never change it: releases run side by side. */
export function clockChannel(userId: string): string {
  return `clock:${userId}`;
}

/** Maximum notifications that wait for an answer of Redis. Others are dropped. */
const maxUnanswered = 1_000;

/**
 * Notifies the gateways when a user's clock advances (ADR 26). A client that misses a notification
 * polls. So a notification never delays or fails a write, and is never sent twice.
 */
export class ClockNotifier {
  /** Numbers of notifications; `dropped` while Redis is disconnected or slow. */
  readonly counts = { sent: 0, dropped: 0 };
  private unanswered = 0;
  private readonly lastState = new LastState<'sent' | 'dropped'>('sent');

  /** @param redis connection without an offline queue, which {@link close} closes. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly log: Log,
  ) {
    // Ignores errors of the connection: `notify` counts and logs failures.
    redis.on('error', () => {});
  }

  /** Publishes the stamp of a user's clock, after the commit. Never throws. */
  notify(userId: string, stamp: string): void {
    if (this.redis.status !== 'ready' || this.unanswered >= maxUnanswered) return this.drop();
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
        this.drop(error);
      },
    );
  }

  close(): void {
    this.redis.disconnect();
  }

  private drop(error?: unknown): void {
    this.counts.dropped += 1;
    if (this.lastState.changeTo('dropped'))
      this.log.warn(
        { outage: 'Redis', err: error },
        'change notifications not sent, clients must poll: Redis unavailable or slow',
      );
  }
}
