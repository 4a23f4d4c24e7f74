import { setTimeout } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { type DeletionJob, deletionQueue, type ErasureJob } from '#contracts';
import { Database, faultKind, rootCauseOf } from '#database';
import { inSpan, type Log, traceOf } from '#runtime';
import { SpanKind } from '@opentelemetry/api';
import { type Job, UnrecoverableError, Worker, type WorkerOptions } from 'bullmq';
import { failErasure } from './erasure/erasure.repository.js';
import { ErasureService } from './erasure/erasure.service.js';
import { LOG } from './queue/deletion-relay.js';
import {
  deletionAttempts,
  countErasure,
  countOutcome,
  stalledJobs,
} from './records/deletion.metrics.js';
import { addAttempt, endDeletion } from './records/deletion.repository.js';
import { stepAfterFault } from './records/deletion.rules.js';
import { DeletionService } from './records/deletion.service.js';

/** Time limit for closing the connection to Redis after the last job, in milliseconds. */
export const redisCloseLimitMs = 2_000;

/** Injection token of the worker's options. */
export const WORKER_OPTIONS = Symbol('worker options');

/**
 * Runs the jobs of deletions and erasures from the queue.
 * - After a transient fault the record stays PENDING, and BullMQ retries the job.
 * - A permanent fault ends the record in FAILURE, in a separate transaction. A deletion also ends
 *   in FAILURE after `maxAttempts` transient faults; an erasure has no such limit.
 * - While Postgres is unavailable, the worker pauses, and failed jobs do not count as attempts.
 */
@Injectable()
export class DeletionProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private worker: Worker<DeletionJob | ErasureJob> | undefined;
  private readonly runningJobs = new Set<Promise<void>>();
  private isStopping = false;

  constructor(
    private readonly deletions: DeletionService,
    private readonly erasures: ErasureService,
    private readonly database: Database,
    @Inject(WORKER_OPTIONS) private readonly options: WorkerOptions,
    @Inject(LOG) private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.worker = new Worker(deletionQueue.name, (job) => this.runJob(job), this.options);
    // The connection reconnects automatically. DeletionRelay logs the outage and its end.
    this.worker.on('error', (error) =>
      this.log.debug({ err: error }, 'Redis connection of the deletion queue failed, reconnecting'),
    );
    this.worker.on('stalled', () => stalledJobs.inc());
    this.database.availability.onChange((isAvailable) => void this.pauseOrResume(isAvailable));
    if (!this.database.availability.isAvailable) await this.pauseOrResume(false);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    const workerClosed = this.worker?.close();
    await Promise.allSettled(this.runningJobs);
    // All jobs have ended. The worker has limited time to close, because Redis can be down.
    await Promise.race([workerClosed, setTimeout(redisCloseLimitMs, undefined, { ref: false })]);
  }

  private async pauseOrResume(isAvailable: boolean): Promise<void> {
    // pause(true) does not wait for running jobs: they can hang on the unavailable Postgres.
    await (isAvailable ? this.worker?.resume() : this.worker?.pause(true));
  }

  private runJob(job: Job<DeletionJob | ErasureJob>): Promise<void> {
    const attempt =
      job.name === deletionQueue.erasureName
        ? this.attemptErasure(job.data)
        : this.attemptDeletion(job.data);
    const run = attempt.finally(() => this.runningJobs.delete(run));
    this.runningJobs.add(run);
    return run;
  }

  /** Parses a job and executes its deletion within a span. */
  private async attemptDeletion(data: unknown): Promise<void> {
    const { userId, deletionId, origin = {} } = deletionQueue.job.parse(data);
    const run = () => this.executeDeletion({ userId, deletionId }, origin['correlationId']);
    await inSpan('deletion.job', { kind: SpanKind.CONSUMER, parent: traceOf(origin) }, run);
  }

  private async executeDeletion(
    { userId, deletionId }: DeletionJob,
    correlationId?: string,
  ): Promise<void> {
    try {
      const outcome = await this.deletions.process({ userId, deletionId });
      deletionAttempts.inc({ result: 'done' });
      if (outcome?.status === 'FAILURE')
        this.log.info(
          { deletionId, correlationId, cause: outcome.cause },
          'deletion ended in FAILURE: a later change of the subscription won; nothing to do',
        );
    } catch (error) {
      await this.handleDeletionFault({ userId, deletionId }, error, correlationId);
    }
  }

  /**
   * Handles the fault of an attempt: leaves the record PENDING, or ends it in FAILURE.
   *
   * @throws the fault, so that BullMQ retries the job, or UnrecoverableError after FAILURE.
   */
  private async handleDeletionFault(
    { userId, deletionId }: DeletionJob,
    error: unknown,
    correlationId?: string,
  ): Promise<never> {
    const kind = faultKind(error);
    deletionAttempts.inc({ result: kind });
    // addAttempt returns undefined for a record that has ended. With 0 attempts, stepAfterFault
    // leaves that record unchanged.
    const attempts =
      kind === 'transient' ? ((await addAttempt(this.database, userId, deletionId)) ?? 0) : 0;
    const step = stepAfterFault(kind, attempts, rootCauseOf(error));
    if (step === 'leave') throw error;
    const ageSeconds = await endDeletion(this.database, userId, deletionId, step);
    if (ageSeconds !== undefined) {
      countOutcome(step, ageSeconds);
      this.log.error(
        { err: error, deletionId, correlationId },
        kind === 'permanent'
          ? 'deletion ended in FAILURE, subscription not deleted: ' +
              'unexpected error, report it as a bug'
          : `deletion ended in FAILURE, subscription not deleted: ${attempts} attempts failed, ` +
              'check locks and timeouts in Postgres',
      );
    }
    throw new UnrecoverableError(step.cause);
  }

  private async attemptErasure(data: unknown): Promise<void> {
    const { userId, origin = {} } = deletionQueue.erasure.parse(data);
    const run = () => this.executeErasure(userId, origin['correlationId']);
    await inSpan('erasure.job', { kind: SpanKind.CONSUMER, parent: traceOf(origin) }, run);
  }

  /** Erases a user. Transient faults are retried without limit, by the queue and then the relay. */
  private async executeErasure(userId: string, correlationId?: string): Promise<void> {
    try {
      if (await this.erasures.process({ userId }, () => this.isStopping))
        this.log.info(
          { correlationId },
          'erasure ended in SUCCESS: all data of a user was deleted',
        );
    } catch (error) {
      if (faultKind(error) !== 'permanent') throw error;
      const cause = rootCauseOf(error);
      if (await failErasure(this.database, userId, cause)) {
        countErasure('failure');
        this.log.error(
          { err: error, correlationId },
          'erasure ended in FAILURE, some data of the user remains: ' +
            'unexpected error, report it as a bug, then request the erasure again ' +
            '(the alert PodcastSyncErasureFaults lists the commands)',
        );
      }
      throw new UnrecoverableError(cause);
    }
  }
}
