import { type DynamicModule, Module } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { connectRedis, type Log } from '#runtime';
import { Queue, type QueueOptions, type WorkerOptions } from 'bullmq';
import { DeletionController } from './deletion.controller.js';
import { DeletionProcessor, WORKER_OPTIONS } from './deletion.processor.js';
import { DeletionRelay, LOG } from './deletion.relay.js';
import { DeletionService } from './deletion.service.js';
import { PendingGauges } from './pending.gauges.js';
import { QUOTAS, queueRedis, type DeletionWorkerConfig } from './deletion-worker.config.js';
import { RequestSweep } from './request.sweep.js';
import { QueueConnections } from './queue.connections.js';

/** All keys of the queue in one slot of a cluster. */
const prefix = '{bull}';

/** The whole deletion lifecycle: records, queue, cascade, recovery. */
@Module({})
export class DeletionModule {
  static forRoot(config: DeletionWorkerConfig, log: Log): DynamicModule {
    const redis = queueRedis(config);
    const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
    const queueOptions: QueueOptions = {
      ...connections.adding,
      prefix,
      defaultJobOptions: {
        // Tried again after about 1, 2, 4, 8 and 16 s, no two in step. An outage that outlasts that is the relay's: it
        // sends anew, half a minute apart, what is given up here, so that no job sleeps long after Postgres is back.
        attempts: 6,
        backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
        // Enough to look into what happened, not a second history.
        removeOnComplete: { age: 3_600, count: 1_000 },
        removeOnFail: { age: 7 * 86_400, count: 10_000 },
      },
    };
    const workerOptions: WorkerOptions = {
      ...connections.working,
      prefix,
      concurrency: config.DELETION_CONCURRENCY,
      // Renewed every half of this: a worker that is only busy loses no job, and what runs twice has one effect.
      lockDuration: 10_000,
      // How soon another worker takes the job of one that was killed, once its lock has run out.
      stalledInterval: 10_000,
      // Workers that were killed are no fault of the deletion; a cascade that kills every worker is stopped after these,
      // and comes back as the relay's next job.
      maxStalledCount: 5,
      // How soon the queue is asked again after it could not answer.
      runRetryDelay: 1_000,
    };
    return {
      module: DeletionModule,
      controllers: [DeletionController],
      providers: [
        { provide: QueueConnections, useValue: connections },
        { provide: Queue, useFactory: () => connections.watch(new Queue(deletionQueue.name, queueOptions)) },
        { provide: WORKER_OPTIONS, useValue: workerOptions },
        { provide: LOG, useValue: log },
        { provide: QUOTAS, useValue: config },
        ...[DeletionService, DeletionRelay, DeletionProcessor, PendingGauges, RequestSweep],
      ],
    };
  }
}
