import { type DynamicModule, Module } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database, RequestSweep } from '#database';
import { connectRedis, type Log } from '#runtime';
import { Queue } from 'bullmq';
import { QUOTAS, queueRedis, type DeletionWorkerConfig } from './deletion-worker.config.js';
import { DeletionProcessor, WORKER_OPTIONS } from './queue/deletion.processor.js';
import { DeletionRelay, LOG } from './queue/deletion.relay.js';
import { QueueConnections } from './queue/queue.connections.js';
import { queueOptions, workerOptions } from './queue/queue.options.js';
import { DeletionController } from './records/deletion.controller.js';
import { DeletionService } from './records/deletion.service.js';
import { PendingGauges } from './records/pending.gauges.js';

/** The whole deletion lifecycle: records, queue, cascade, recovery. */
@Module({})
export class DeletionModule {
  static forRoot(config: DeletionWorkerConfig, log: Log): DynamicModule {
    const redis = queueRedis(config);
    const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
    const options = { ...workerOptions, ...connections.forWorker, concurrency: config.DELETION_CONCURRENCY };
    const openQueue = () => new Queue(deletionQueue.name, { ...queueOptions, ...connections.forQueue });
    return {
      module: DeletionModule,
      controllers: [DeletionController],
      providers: [
        { provide: QueueConnections, useValue: connections },
        { provide: Queue, useFactory: () => connections.watch(openQueue()) },
        { provide: WORKER_OPTIONS, useValue: options },
        { provide: LOG, useValue: log },
        { provide: QUOTAS, useValue: config },
        DeletionService,
        DeletionRelay,
        DeletionProcessor,
        PendingGauges,
        {
          // It removes the stored answers of all services; one app is enough for that.
          provide: RequestSweep,
          inject: [Database],
          useFactory: (database: Database) => new RequestSweep(database, log),
        },
      ],
    };
  }
}
