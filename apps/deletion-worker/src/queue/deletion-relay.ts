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
/** Maximum number of deletions, and of erasures, per claim. After a full claim, another follows. */
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
  private runningPoll: Promise<void> | undefined;
  /** True if the running poll must claim records again. */
  private needsAnotherPoll = false;
  private isStopped = false;
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
    this.isStopped = true;
    clearInterval(this.pollTimer);
    await this.runningPoll;
  }

  /** Looks for due records immediately, or, during a running poll, again after that poll. */
  pollNow(): void {
    this.needsAnotherPoll = true;
    // A poll serves many requests, so its spans do not belong to the trace of the caller.
    this.runningPoll ??= context
      .with(ROOT_CONTEXT, () => this.poll())
      .finally(() => (this.runningPoll = undefined));
  }

  private async poll(): Promise<void> {
    while (this.needsAnotherPoll && !this.isStopped) {
      this.needsAnotherPoll = false;
      try {
        if ((await this.sendDueRecords()) === batchSize) this.needsAnotherPoll = true;
        this.faults.recordSuccess();
      } catch (error) {
        // No record is lost: it stays due, and the next poll retries.
        this.faults.recordFailure(error);
      }
    }
  }

  /** Claims due records and adds their jobs. @returns the larger number of the two kinds. */
  private async sendDueRecords(): Promise<number> {
    // This command tests Redis. If it fails, the relay claims no record, and all records stay due.
    await withRedisLimit(this.queue.getJobState('any'));
    const recordsByKind = await claimDue(this.database, batchSize, resendAfterMs);
    const claimedRecords = recordsByKind.flat();
    if (claimedRecords.length > 0) await this.sendJobs(claimedRecords);
    return Math.max(...recordsByKind.map(({ length }) => length));
  }

  /** Adds jobs for new records, and for records whose last job is no longer in the queue. */
  private async sendJobs(claimedRecords: readonly ClaimedRecord[]): Promise<void> {
    const resentRecords = claimedRecords.filter((row) => !row.isNew);
    const jobStates = await withRedisLimit(
      Promise.all(resentRecords.map((row) => this.queue.getJobState(createJobId(row)))),
    );
    const lostJobRecords = resentRecords.filter(
      (_, index) => !openStates.has(jobStates[index] ?? ''),
    );
    const recordsWithoutJob = [
      ...claimedRecords.filter((row) => row.isNew),
      ...(await renumberLostJobs(this.database, lostJobRecords)),
    ];
    if (recordsWithoutJob.length > 0)
      await withRedisLimit(this.queue.addBulk(recordsWithoutJob.map(toJob)));
  }
}

/** Returns the job for a record. Deletions have priority over erasures. */
function toJob(row: ClaimedRecord) {
  const { userId, deletionId, origin } = row;
  const originField = origin ? { origin } : {};
  if (deletionId === null)
    return {
      name: deletionQueue.erasureName,
      data: { userId, ...originField },
      opts: { jobId: createJobId(row), priority: 1 },
    };
  return {
    name: deletionQueue.name,
    data: { userId, deletionId, ...originField },
    opts: { jobId: createJobId(row) },
  };
}

/** Returns the job id of a record. BullMQ rejects ids of only digits, and ids with a colon. */
function createJobId({ userId, deletionId, jobNumber }: ClaimedRecord): string {
  return deletionId === null
    ? `erasure-${userId}-${jobNumber}`
    : `deletion-${deletionId}-${jobNumber}`;
}

/** Limits the wait for Redis, because a queue that never connected would wait forever. */
function withRedisLimit<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return withTimeLimit(answer, redisLimitMs, () =>
    Object.assign(new Error(`Redis did not answer within ${redisLimitMs} ms`), {
      code: 'ETIMEDOUT',
    }),
  );
}
