import { setTimeout } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type DeletionJob, deletionQueue } from '#contracts';
import { Database } from '#database';
import { inSpan, type Log, traceOf } from '#runtime';
import { SpanKind } from '@opentelemetry/api';
import { type Job, UnrecoverableError, Worker, type WorkerOptions } from 'bullmq';
import { LOG } from './deletion.relay.js';
import { DeletionService } from './deletion.service.js';
import { attempts, countEnding, stalledJobs } from './deletion.metrics.js';
import { stepAfterFault } from './deletion.rule.js';
import { addAttempt, endAlone } from './deletion.store.js';
import { faultKind } from './fault.rule.js';

/** How long a closing worker waits for Redis once its jobs have ended, in milliseconds. */
export const farewellMs = 2_000;

/** The worker's options, as a token for injection. */
export const WORKER_OPTIONS = Symbol('worker options');

/**
 * Takes jobs from the queue. A fault that passes leaves the record PENDING and the job to be tried again; one that
 * does not, or has come too often, ends the record in FAILURE, in a transaction of its own. That Postgres is away is
 * no attempt, and while it is, no job is taken.
 */
@Injectable()
export class DeletionProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private worker: Worker<DeletionJob> | undefined;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly deletions: DeletionService,
    private readonly database: Database,
    @Inject(WORKER_OPTIONS) private readonly options: WorkerOptions,
    @Inject(LOG) private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.worker = new Worker(deletionQueue.name, (job) => this.run(job), this.options);
    // Once per outage: the worker's connection comes back by itself, and the records wait.
    let away = false;
    this.worker.on('error', (error) => {
      if (!away) this.log.warn({ err: error }, "the deletion queue's Redis is away");
      away = true;
    });
    this.worker.on('active', () => (away = false));
    this.worker.on('stalled', () => stalledJobs.inc());
    this.database.availability.onChange((isAvailable) => void this.takeJobs(isAvailable));
    if (!this.database.availability.isAvailable) await this.takeJobs(false);
  }

  async beforeApplicationShutdown(): Promise<void> {
    const closed = this.worker?.close();
    await Promise.allSettled(this.running);
    // The rest is said to Redis, which may be away.
    await Promise.race([closed, setTimeout(farewellMs, undefined, { ref: false })]);
  }

  private async takeJobs(isTaking: boolean): Promise<void> {
    // What runs is not waited for: it may hang on the very Postgres that went away.
    await (isTaking ? this.worker?.resume() : this.worker?.pause(true));
  }

  private run(job: Job<DeletionJob>): Promise<void> {
    const run = this.attempt(job).finally(() => this.running.delete(run));
    this.running.add(run);
    return run;
  }

  private async attempt(job: Job<DeletionJob>): Promise<void> {
    const { userId, deletionId, origin = {} } = deletionQueue.job.parse(job.data);
    const carryOut = () => this.carryOut({ userId, deletionId }, origin['requestId']);
    await inSpan('deletion.job', SpanKind.CONSUMER, traceOf(origin), carryOut);
  }

  private async carryOut({ userId, deletionId }: DeletionJob, requestId?: string): Promise<void> {
    try {
      const ending = await this.deletions.process({ userId, deletionId });
      attempts.inc({ result: 'done' });
      if (ending?.status === 'FAILURE')
        this.log.info({ deletionId, requestId, cause: ending.cause }, 'a deletion was overtaken');
    } catch (error) {
      await this.settle({ userId, deletionId }, error, requestId);
    }
  }

  /** Decides what a failed attempt means; throws what the job should end with. */
  private async settle({ userId, deletionId }: DeletionJob, error: unknown, requestId?: string): Promise<never> {
    const kind = faultKind(error);
    attempts.inc({ result: kind });
    // One that has ended meanwhile has no attempts to count, and nothing to settle.
    const counted = kind === 'passing' ? ((await addAttempt(this.database, userId, deletionId)) ?? 0) : 0;
    const step = stepAfterFault(kind, counted, trueCause(error));
    if (step === 'leave') throw error;
    const age = await endAlone(this.database, userId, deletionId, step);
    if (age !== undefined) {
      countEnding(step, age);
      this.log.error({ err: error, deletionId, requestId }, 'a deletion ended in FAILURE');
    }
    throw new UnrecoverableError(step.cause);
  }
}

function trueCause(error: unknown): string {
  let deepest = error as Error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return String(deepest.message ?? deepest);
}
