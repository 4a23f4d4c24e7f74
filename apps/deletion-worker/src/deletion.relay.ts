import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database, timeLimit } from '#database';
import type { Log } from '#runtime';
import { Queue } from 'bullmq';
import { claimDue, commitSent, type Unsent } from './deletion.store.js';

/** How often the table is looked at without being woken, in milliseconds. */
const pollMs = 2_000;
/** A record that was sent this long ago and is not finished is looked at again, in milliseconds. */
const resendAfterMs = 30_000;
/** Records per look. */
const batchSize = 100;
/** How long one look may take, in milliseconds. */
const lookLimitMs = 10_000;

/** In these states a job will still be worked on. */
const underWay: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed', 'active', 'waiting-children']);

/** Where the relay and the worker log, as a token for injection. */
export const LOG = Symbol('log');

/**
 * Sends records to the queue. Every replica has one. Invariants:
 * - a record is marked as sent in the transaction that holds its lock while its job is added, so no other relay sends
 *   it too, and one whose job could not be added stays unsent;
 * - the number of the sending is part of the job's id, so what is sent again is a new job, and what is added twice
 *   because a commit failed is one.
 */
@Injectable()
export class DeletionRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private looking: Promise<void> | undefined;
  private again = false;
  private stopped = false;
  private failing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Queue) private readonly queue: Queue,
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
    this.looking ??= this.look().finally(() => (this.looking = undefined));
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

  private sendDue(): Promise<number> {
    return this.database.inTransaction(timeLimit(lookLimitMs), async (session) => {
      const due = await claimDue(session, batchSize, resendAfterMs);
      if (due.length > 0) await commitSent(session, await this.send(due));
      return due.length;
    });
  }

  /** Adds a job for each record, but for those whose last job is still under way. */
  private async send(due: readonly Unsent[]): Promise<Unsent[]> {
    const states = await Promise.all(due.map((row) => (row.send === 0 ? 'none' : this.queue.getJobState(jobId(row)))));
    const sent = due.map((row, index) => (underWay.has(states[index] ?? '') ? row : { ...row, send: row.send + 1 }));
    const lost = sent.filter((row, index) => row.send !== due[index]?.send);
    await this.queue.addBulk(
      lost.map((row) => ({
        name: deletionQueue.name,
        data: { userId: row.userId, deletionId: row.deletionId },
        opts: { jobId: jobId(row) },
      })),
    );
    return sent;
  }
}

/** BullMQ refuses ids of digits only and ids with a colon. */
function jobId({ deletionId, send }: Unsent): string {
  return `deletion-${deletionId}-${send}`;
}
