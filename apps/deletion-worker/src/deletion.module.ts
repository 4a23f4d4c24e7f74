import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { deletionQueue } from '#contracts';
import { Database, RequestSweep } from '#database';
import { RevocationWriter } from '#identity';
import { connectRedis } from '#redis';
import type { Log } from '#runtime';
import { Queue } from 'bullmq';
import { QUOTAS, redisOf, type DeletionWorkerConfig } from './deletion-worker.config.js';
import { DeletionProcessor, WORKER_OPTIONS } from './deletion-processor.js';
import { ErasureService } from './erasure/erasure.service.js';
import { AofCleaner } from './erasure/aof-cleaner.js';
import { EventGauge } from './events/event.metrics.js';
import { EventPublisher } from './events/event-publisher.js';
import { EventRelay } from './events/event-relay.js';
import { DeletionRelay, LOG } from './queue/deletion-relay.js';
import { QueueConnections } from './queue/queue-connections.js';
import { queueOptions, workerOptions } from './queue/queue-options.js';
import { DeletionService } from './records/deletion.service.js';
import { PendingGauges } from './records/pending-gauges.js';

/** The module of deletions, erasures, event publishing and the sweep of old markers. */
@Module({})
export class DeletionModule {
  static forRoot(config: DeletionWorkerConfig, log: Log): DynamicModule {
    const redis = redisOf('QUEUE', config);
    const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
    const options = {
      ...workerOptions,
      ...connections.forWorker,
      concurrency: config.DELETION_CONCURRENCY,
    };
    const requests = connectRedis(config);
    const openQueue = () =>
      new Queue(deletionQueue.name, { ...queueOptions, ...connections.forQueue });
    return {
      module: DeletionModule,
      // Both classes are also providers: Nest does not inject controllers, and DeletionProcessor
      // needs the two. Each class therefore has two instances.
      controllers: [DeletionService, ErasureService],
      providers: [
        { provide: QueueConnections, useValue: connections },
        { provide: Queue, useFactory: () => connections.addQueue(openQueue()) },
        { provide: WORKER_OPTIONS, useValue: options },
        { provide: LOG, useValue: log },
        { provide: QUOTAS, useValue: config },
        DeletionService,
        ErasureService,
        { provide: RevocationWriter, useValue: new RevocationWriter(requests, log) },
        { provide: AofCleaner, useValue: new AofCleaner(requests, log) },
        DeletionRelay,
        DeletionProcessor,
        PendingGauges,
        ...(config.EVENTS === 'on' ? eventProviders(config, log) : []),
        {
          // The deletion worker deletes the old markers and stored answers of all services.
          provide: RequestSweep,
          inject: [Database],
          useFactory: (database: Database) => new RequestSweep(database, log),
        },
      ],
    };
  }
}

/** Returns the providers that publish events. */
function eventProviders(config: DeletionWorkerConfig, log: Log): Provider[] {
  const options = { maxEntries: config.EVENTS_MAX_ENTRIES, replicas: config.EVENTS_REPLICAS };
  const redis = connectRedis(redisOf('EVENTS', config));
  return [
    { provide: EventPublisher, useValue: new EventPublisher(redis, options, log) },
    {
      provide: EventRelay,
      inject: [Database, EventPublisher],
      useFactory: (database: Database, publisher: EventPublisher) =>
        new EventRelay(database, publisher, log),
    },
    EventGauge,
  ];
}
