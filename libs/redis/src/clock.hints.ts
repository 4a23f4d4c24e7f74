import type { Cluster, Redis } from 'ioredis';
import { Condition, type Log } from '#runtime';

/** The channel in Redis that carries where one user's clock is. Processes of yesterday use the same: never change it. */
export function clockChannel(userId: string): string {
  return `clock:${userId}`;
}

/** Hints that Redis has not answered yet at most: a moment of a busy replica, and little memory. */
const mostUnanswered = 1_000;

/**
 * Tells whoever follows a user just now that the user's clock was moved (ADR 26). A hint is worth nothing by itself: who
 * misses it polls. So it waits for nobody, is never sent twice, and never fails what it tells of.
 */
export class ClockHints {
  /** Hints that were sent, and dropped as Redis was away or too slow, for metrics. */
  readonly counts = { sent: 0, dropped: 0 };
  private unanswered = 0;
  private readonly condition = new Condition<'there' | 'away'>('there');

  /** @param redis a connection without a queue for the time that it is away; closed by {@link close}. */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly log: Log,
  ) {
    // Failures are handled where it publishes.
    redis.on('error', () => {});
  }

  /** Tells where a user's clock is. To be called once that is committed. Never throws. */
  tell(userId: string, stamp: string): void {
    if (this.redis.status !== 'ready' || this.unanswered >= mostUnanswered) return this.drop();
    this.unanswered += 1;
    this.redis.publish(clockChannel(userId), stamp).then(
      () => {
        this.unanswered -= 1;
        this.counts.sent += 1;
        if (this.condition.becomes('there')) this.log.info('changes are told to gateways again');
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
    if (this.condition.becomes('away'))
      this.log.warn({ err: error }, 'changes are not told to gateways, whose clients poll for them');
  }
}
