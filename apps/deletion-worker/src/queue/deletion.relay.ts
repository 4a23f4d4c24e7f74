import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database } from '#database';
import { Condition, type Log, withTimeLimit } from '#runtime';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { Queue } from 'bullmq';
import { takeDueErasures, takeErasuresAgain } from '../erasure/erasure.store.js';
import { type Taken, takeAgainLost, takeDue } from '../records/deletion.store.js';

/** How often a relay polls the table without being woken, in milliseconds. */
const pollMs = 2_000;
/** How long after a record was last sent or checked its job is checked again, in milliseconds. */
export const resendAfterMs = 30_000;
/** Records per poll. */
const batchSize = 100;
/** How long Redis may take for one answer, in milliseconds. */
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
 * - a record whose last job is still under way gets no other one, unless an operator wants it, who clears `sent_at`.
 */
@Injectable()
export class DeletionRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private polling: Promise<void> | undefined;
  private pollAgain = false;
  private stopped = false;
  private readonly condition = new Condition<'working' | 'failing'>('working');
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
    await this.polling;
  }

  /** Polls now. When it is called during a poll, another poll follows. */
  wake(): void {
    this.pollAgain = true;
    // A poll serves many requests: its spans do not belong to the trace of the one that woke it.
    this.polling ??= context.with(ROOT_CONTEXT, () => this.poll()).finally(() => (this.polling = undefined));
  }

  private async poll(): Promise<void> {
    while (this.pollAgain && !this.stopped) {
      this.pollAgain = false;
      try {
        if ((await this.sendDue()) === batchSize) this.pollAgain = true;
        if (this.condition.becomes('working')) this.log.info('deletions reach the queue again');
      } catch (error) {
        // The poll tries again, and nothing is lost meanwhile.
        if (this.condition.becomes('failing'))
          this.log.warn({ err: error }, 'deletions wait: the queue or Postgres is away');
      }
    }
  }

  private async sendDue(): Promise<number> {
    // Any answer will do: while Redis is away nothing is taken, so that all can be sent as soon as it is back.
    await inTime(this.queue.getJobState('any'));
    const records = [takeDue, takeDueErasures].map((due) => due(this.database, batchSize, resendAfterMs));
    const [deletions, erasures] = (await Promise.all(records)) as [Taken[], Taken[]];
    const taken = [...deletions, ...erasures];
    if (taken.length > 0) await this.send(taken);
    return Math.max(deletions.length, erasures.length);
  }

  private async send(taken: readonly Taken[]): Promise<void> {
    const sent = taken.filter((row) => !row.fresh);
    const states = await inTime(Promise.all(sent.map((row) => this.queue.getJobState(jobId(row)))));
    const lost = sent.filter((_, index) => !underWay.has(states[index] ?? ''));
    const isErasure = (row: Taken) => row.deletionId === null;
    const due = [
      ...taken.filter((row) => row.fresh),
      ...(await takeAgainLost(
        this.database,
        lost.filter((row) => !isErasure(row)),
      )),
      ...(await takeErasuresAgain(this.database, lost.filter(isErasure))),
    ];
    if (due.length > 0) await inTime(this.queue.addBulk(due.map(jobOf)));
  }
}

/** The job that names a record. Deletions, for which somebody waits, go before erasures. */
function jobOf(row: Taken) {
  const { userId, deletionId, origin } = row;
  const more = origin ? { origin } : {};
  if (deletionId === null)
    return { name: deletionQueue.erasureName, data: { userId, ...more }, opts: { jobId: jobId(row), priority: 1 } };
  return { name: deletionQueue.name, data: { userId, deletionId, ...more }, opts: { jobId: jobId(row) } };
}

/** BullMQ refuses ids of digits only and ids with a colon. */
function jobId({ userId, deletionId, send }: Taken): string {
  return deletionId === null ? `erasure-${userId}-${send}` : `deletion-${deletionId}-${send}`;
}

/** Rejects when Redis takes too long: a queue that was never connected would wait for ever. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return withTimeLimit(answer, redisLimitMs, () => new Error(`Redis did not answer within ${redisLimitMs} ms`));
}
