import { type DynamicModule, Module } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { connectRedis, type Log } from '#runtime';
import { Queue, type QueueOptions, type WorkerOptions } from 'bullmq';
import { DeletionController } from './deletion.controller.js';
import { DeletionProcessor, WORKER_OPTIONS } from './deletion.processor.js';
import { DeletionRelay, LOG } from './deletion.relay.js';
import { DeletionService } from './deletion.service.js';
import type { DeletionWorkerConfig } from './deletion-worker.config.js';
import { RequestSweep } from './request.sweep.js';
import { QueueConnections } from './queue.connections.js';

/** All keys of the queue in one slot of a cluster. */
const prefix = '{bull}';

/** The whole deletion lifecycle: records, queue, cascade, recovery. */
@Module({})
export class DeletionModule {
  static with(config: DeletionWorkerConfig, log: Log): DynamicModule {
    const redis = { ...config, REDIS_URL: config.QUEUE_REDIS_URL ?? config.REDIS_URL };
    const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
    const queueOptions: QueueOptions = {
      connection: connections.producer,
      prefix,
      defaultJobOptions: {
        // Tried again after about 1, 2, 4 … s, no two at once; the relay sends anew what is given up here.
        attempts: 10,
        backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
        // Enough to look into what happened, not a second history.
        removeOnComplete: { age: 3_600, count: 1_000 },
        removeOnFail: { age: 7 * 86_400, count: 10_000 },
      },
    };
    const workerOptions: WorkerOptions = {
      connection: connections.worker,
      prefix,
      concurrency: config.DELETION_CONCURRENCY,
      // A killed worker's job is noticed within this time, and may be: the record decides what it still does.
      stalledInterval: 10_000,
      maxStalledCount: 5,
    };
    return {
      module: DeletionModule,
      controllers: [DeletionController],
      providers: [
        { provide: QueueConnections, useValue: connections },
        { provide: Queue, useFactory: () => connections.watch(new Queue(deletionQueue.name, queueOptions)) },
        { provide: WORKER_OPTIONS, useValue: workerOptions },
        { provide: LOG, useValue: log },
        ...[DeletionService, DeletionRelay, DeletionProcessor, RequestSweep],
      ],
    };
  }
}
