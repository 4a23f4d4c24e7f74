import { setTimeout } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type DeletionJob, deletionQueue, type ErasureJob } from '#contracts';
import { Database, faultKind, rootCauseOf } from '#database';
import { Condition, inSpan, type Log, traceOf } from '#runtime';
import { SpanKind } from '@opentelemetry/api';
import { type Job, UnrecoverableError, Worker, type WorkerOptions } from 'bullmq';
import { LOG } from './deletion.relay.js';
import { ErasureService } from '../erasure/erasure.service.js';
import { failErasure } from '../erasure/erasure.store.js';
import { DeletionService } from '../records/deletion.service.js';
import { attempts, countEnding, countErasure, stalledJobs } from './deletion.metrics.js';
import { stepAfterFault } from '../records/deletion.rule.js';
import { addAttempt, endAlone } from '../records/deletion.store.js';

/** How long a closing worker waits for Redis once its jobs have ended, in milliseconds. */
export const redisCloseLimitMs = 2_000;

/** The worker's options, as a token for injection. */
export const WORKER_OPTIONS = Symbol('worker options');

/**
 * Takes jobs from the queue. After a passing fault the record stays PENDING and the job is tried again; a lasting
 * fault, or one too many, ends the record in FAILURE, in a transaction of its own. While Postgres is away no job is
 * taken, and a job that fails because of it does not count as an attempt.
 */
@Injectable()
export class DeletionProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private worker: Worker<DeletionJob | ErasureJob> | undefined;
  private readonly running = new Set<Promise<void>>();
  private isStopping = false;

  constructor(
    private readonly deletions: DeletionService,
    private readonly erasures: ErasureService,
    private readonly database: Database,
    @Inject(WORKER_OPTIONS) private readonly options: WorkerOptions,
    @Inject(LOG) private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.worker = new Worker(deletionQueue.name, (job) => this.run(job), this.options);
    // The worker's connection comes back by itself, and the records wait.
    const redis = new Condition<'there' | 'away'>('there');
    this.worker.on('error', (error) => {
      if (redis.becomes('away')) this.log.warn({ err: error }, "the deletion queue's Redis is away");
    });
    this.worker.on('active', () => redis.becomes('there'));
    this.worker.on('stalled', () => stalledJobs.inc());
    this.database.availability.onChange((isAvailable) => void this.takeJobs(isAvailable));
    if (!this.database.availability.isAvailable) await this.takeJobs(false);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    const closed = this.worker?.close();
    await Promise.allSettled(this.running);
    // What is left to wait for are commands to Redis, which may be away.
    await Promise.race([closed, setTimeout(redisCloseLimitMs, undefined, { ref: false })]);
  }

  private async takeJobs(isTaking: boolean): Promise<void> {
    // pause(true) does not wait for jobs that run: they may hang on the very Postgres that went away.
    await (isTaking ? this.worker?.resume() : this.worker?.pause(true));
  }

  private run(job: Job<DeletionJob | ErasureJob>): Promise<void> {
    const attempt = job.name === deletionQueue.erasureName ? this.attemptErasure(job.data) : this.attempt(job.data);
    const run = attempt.finally(() => this.running.delete(run));
    this.running.add(run);
    return run;
  }

  private async attempt(data: unknown): Promise<void> {
    const { userId, deletionId, origin = {} } = deletionQueue.job.parse(data);
    const carryOut = () => this.carryOut({ userId, deletionId }, origin['requestId']);
    await inSpan('deletion.job', { kind: SpanKind.CONSUMER, parent: traceOf(origin) }, carryOut);
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

  /** Decides what a failed attempt means. @throws the error, so that BullMQ tries again, or UnrecoverableError. */
  private async settle({ userId, deletionId }: DeletionJob, error: unknown, requestId?: string): Promise<never> {
    const kind = faultKind(error);
    attempts.inc({ result: kind });
    // Where the record has ended meanwhile there are none to count: with 0 it is left as it is.
    const counted = kind === 'passing' ? ((await addAttempt(this.database, userId, deletionId)) ?? 0) : 0;
    const step = stepAfterFault(kind, counted, rootCauseOf(error));
    if (step === 'leave') throw error;
    const age = await endAlone(this.database, userId, deletionId, step);
    if (age !== undefined) {
      countEnding(step, age);
      this.log.error({ err: error, deletionId, requestId }, 'a deletion ended in FAILURE');
    }
    throw new UnrecoverableError(step.cause);
  }

  private async attemptErasure(data: unknown): Promise<void> {
    const { userId, origin = {} } = deletionQueue.erasure.parse(data);
    const carryOut = () => this.erase(userId, origin['requestId']);
    await inSpan('erasure.job', { kind: SpanKind.CONSUMER, parent: traceOf(origin) }, carryOut);
  }

  /** Whatever passes is tried again, by the queue and then by the relay, for as long as it takes. */
  private async erase(userId: string, requestId?: string): Promise<void> {
    try {
      if (await this.erasures.process({ userId }, () => this.isStopping))
        this.log.info({ requestId }, 'a user was erased');
    } catch (error) {
      if (faultKind(error) !== 'lasting') throw error;
      const cause = rootCauseOf(error);
      if (await failErasure(this.database, userId, cause)) {
        countErasure('failure');
        this.log.error({ err: error, requestId }, 'an erasure ended in FAILURE');
      }
      throw new UnrecoverableError(cause);
    }
  }
}
