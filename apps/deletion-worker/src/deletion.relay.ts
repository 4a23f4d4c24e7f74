import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database } from '#database';
import type { Log } from '#runtime';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { Queue } from 'bullmq';
import { type Taken, takeAgainLost, takeDue } from './deletion.store.js';

/** How often the table is looked at without being woken, in milliseconds. */
const pollMs = 2_000;
/** A record that was sent or looked at this long ago and is not finished is looked at again, in milliseconds. */
export const resendAfterMs = 30_000;
/** Records per look. */
const batchSize = 100;
/** How long Redis may take for one look, in milliseconds. */
const redisLimitMs = 5_000;

/** In these states a job will still be worked on. */
const underWay: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed', 'active', 'waiting-children']);

/** Where the relay and the worker log, as a token for injection. */
export const LOG = Symbol('log');

/**
 * Sends records to the queue. Every replica has one. Invariants:
 * - a record is taken, and the number of its next job committed, before the job is added: no other relay sends it too,
 *   no two jobs share an id, and no lock of Postgres is held while Redis is asked;
 * - whatever fails after that leaves a record whose job is missing, which is taken again when its time is up;
 * - a record whose last job is still under way gets no other one, unless an operator wants it (`sent_at` none).
 */
@Injectable()
export class DeletionRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private looking: Promise<void> | undefined;
  private again = false;
  private stopped = false;
  private failing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly queue: Queue,
    @Inject(LOG) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.wake(), pollMs);
    this.wake();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.looking;
  }

  /** Looks for records to send, now; a wake-up during a look makes one more. */
  wake(): void {
    this.again = true;
    // On behalf of many requests, not of the one that woke it.
    this.looking ??= context.with(ROOT_CONTEXT, () => this.look()).finally(() => (this.looking = undefined));
  }

  private async look(): Promise<void> {
    while (this.again && !this.stopped) {
      this.again = false;
      try {
        if ((await this.sendDue()) === batchSize) this.again = true;
        if (this.failing) this.log.info('deletions reach the queue again');
        this.failing = false;
      } catch (error) {
        // Once per outage: the poll tries again, and nothing is lost meanwhile.
        if (!this.failing) this.log.warn({ err: error }, 'deletions wait: the queue or Postgres is away');
        this.failing = true;
      }
    }
  }

  private async sendDue(): Promise<number> {
    // While Redis is away nothing is taken, so that all can be sent as soon as it is back.
    await inTime(this.queue.getJobState('any'));
    const taken = await takeDue(this.database, batchSize, resendAfterMs);
    if (taken.length > 0) await this.send(taken);
    return taken.length;
  }

  private async send(taken: readonly Taken[]): Promise<void> {
    const sent = taken.filter((row) => !row.fresh);
    const states = await inTime(Promise.all(sent.map((row) => this.queue.getJobState(jobId(row)))));
    const lost = sent.filter((_, index) => !underWay.has(states[index] ?? ''));
    const due = [...taken.filter((row) => row.fresh), ...(await takeAgainLost(this.database, lost))];
    const jobs = due.map((row) => ({
      name: deletionQueue.name,
      data: { userId: row.userId, deletionId: row.deletionId, ...(row.origin && { origin: row.origin }) },
      opts: { jobId: jobId(row) },
    }));
    if (jobs.length > 0) await inTime(this.queue.addBulk(jobs));
  }
}

/** BullMQ refuses ids of digits only and ids with a colon. */
function jobId({ deletionId, send }: Taken): string {
  return `deletion-${deletionId}-${send}`;
}

/** Ends a wait for Redis: a queue that was never connected waits for ever. */
async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not answer within ${redisLimitMs} ms`)), redisLimitMs);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
