import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database, postgresOutage } from '#database';
import { redisOutage } from '#redis';
import { FaultLog, type Log, withTimeLimit } from '#runtime';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { Queue } from 'bullmq';
import { renumberLostJobs, claimDue, type ClaimedRecord } from './due.repository.js';

/** Interval in which the relay looks for due records, in milliseconds. */
const pollMs = 5_000;
/** Time after which a claimed record is due again, in milliseconds. */
export const resendAfterMs = 30_000;
/** Maximum number of deletions, and of erasures, per poll. */
const batchSize = 100;
/** Time limit of a command to Redis in milliseconds. */
const redisLimitMs = 5_000;

/** States of a job that has not ended. */
const openStates: ReadonlySet<string> = new Set([
  'waiting',
  'prioritized',
  'delayed',
  'active',
  'waiting-children',
]);

/** Injection token of the log. */
export const LOG = Symbol('log');

/**
 * Adds a job to the queue for each due record of a deletion or erasure. Every replica has a relay.
 * Invariants:
 * - The relay claims a record and commits the number of its job before it adds the job. So no other
 *   relay sends the record, job ids are unique, and no Postgres lock is held during a call to
 *   Redis.
 * - If adding the job then fails, the record is due again after {@link resendAfterMs}.
 * - A record with an open job gets no second job, unless an operator makes it due.
 */
@Injectable()
export class DeletionRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private polling: Promise<void> | undefined;
  private pollAgain = false;
  private stopped = false;
  private readonly faults: FaultLog;
  private pollTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly queue: Queue,
    @Inject(LOG) log: Log,
  ) {
    this.faults = new FaultLog(
      log,
      {
        failed: 'deletions delayed: queueing failed, retrying',
        recovered: 'deletions no longer delayed',
      },
      (error) => postgresOutage(error) ?? redisOutage(error),
    );
  }

  onApplicationBootstrap(): void {
    this.pollTimer = setInterval(() => this.pollNow(), pollMs);
    this.pollNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearInterval(this.pollTimer);
    await this.polling;
  }

  /** Looks for due records immediately, or, during a running poll, again after that poll. */
  pollNow(): void {
    this.pollAgain = true;
    // A poll serves many requests, so its spans do not belong to the trace of the caller.
    this.polling ??= context
      .with(ROOT_CONTEXT, () => this.poll())
      .finally(() => (this.polling = undefined));
  }

  private async poll(): Promise<void> {
    while (this.pollAgain && !this.stopped) {
      this.pollAgain = false;
      try {
        if ((await this.sendDue()) === batchSize) this.pollAgain = true;
        this.faults.recordSuccess();
      } catch (error) {
        // No record is lost: it stays due, and the next poll retries.
        this.faults.recordFailure(error);
      }
    }
  }

  private async sendDue(): Promise<number> {
    // This command tests Redis. If it fails, the relay claims no record, and all records stay due.
    await withRedisLimit(this.queue.getJobState('any'));
    const records = await claimDue(this.database, batchSize, resendAfterMs);
    const claimed = records.flat();
    if (claimed.length > 0) await this.sendJobs(claimed);
    return Math.max(...records.map(({ length }) => length));
  }

  private async sendJobs(claimed: readonly ClaimedRecord[]): Promise<void> {
    const sent = claimed.filter((row) => !row.isNew);
    const states = await withRedisLimit(
      Promise.all(sent.map((row) => this.queue.getJobState(jobId(row)))),
    );
    const lost = sent.filter((_, index) => !openStates.has(states[index] ?? ''));
    const due = [
      ...claimed.filter((row) => row.isNew),
      ...(await renumberLostJobs(this.database, lost)),
    ];
    if (due.length > 0) await withRedisLimit(this.queue.addBulk(due.map(jobOf)));
  }
}

/** Returns the job for a record. Deletions have priority over erasures. */
function jobOf(row: ClaimedRecord) {
  const { userId, deletionId, origin } = row;
  const more = origin ? { origin } : {};
  if (deletionId === null)
    return {
      name: deletionQueue.erasureName,
      data: { userId, ...more },
      opts: { jobId: jobId(row), priority: 1 },
    };
  return {
    name: deletionQueue.name,
    data: { userId, deletionId, ...more },
    opts: { jobId: jobId(row) },
  };
}

/** Returns the job id of a record. BullMQ rejects ids of only digits, and ids with a colon. */
function jobId({ userId, deletionId, jobNumber }: ClaimedRecord): string {
  return deletionId === null
    ? `erasure-${userId}-${jobNumber}`
    : `deletion-${deletionId}-${jobNumber}`;
}

/** Limits the wait for Redis: a queue that never connected would wait forever. */
function withRedisLimit<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return withTimeLimit(answer, redisLimitMs, () =>
    Object.assign(new Error(`Redis did not answer within ${redisLimitMs} ms`), {
      code: 'ETIMEDOUT',
    }),
  );
}
