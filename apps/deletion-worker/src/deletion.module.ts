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
    const queueRedis = redisOf('QUEUE', config);
    const connections = new QueueConnections(
      (overrides) => connectRedis(queueRedis, overrides),
      log,
    );
    const options = {
      ...workerOptions,
      ...connections.forWorker,
      concurrency: config.DELETION_CONCURRENCY,
    };
    const requestRedis = connectRedis(config);
    const openQueue = () =>
      new Queue(deletionQueue.name, { ...queueOptions, ...connections.forQueue });
    return {
      module: DeletionModule,
      // Both classes are also providers, because DeletionProcessor needs them and Nest does not
      // inject controllers. Therefore each class has two instances.
      controllers: [DeletionService, ErasureService],
      providers: [
        { provide: QueueConnections, useValue: connections },
        { provide: Queue, useFactory: () => connections.addQueue(openQueue()) },
        { provide: WORKER_OPTIONS, useValue: options },
        { provide: LOG, useValue: log },
        { provide: QUOTAS, useValue: config },
        DeletionService,
        ErasureService,
        { provide: RevocationWriter, useValue: new RevocationWriter(requestRedis, log) },
        { provide: AofCleaner, useValue: new AofCleaner(requestRedis, log) },
        DeletionRelay,
        DeletionProcessor,
        PendingGauges,
        ...(config.EVENTS === 'on' ? createEventProviders(config, log) : []),
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
function createEventProviders(config: DeletionWorkerConfig, log: Log): Provider[] {
  const options = { maxEntries: config.EVENTS_MAX_ENTRIES, replicas: config.EVENTS_REPLICAS };
  const eventRedis = connectRedis(redisOf('EVENTS', config));
  return [
    { provide: EventPublisher, useValue: new EventPublisher(eventRedis, options, log) },
    {
      provide: EventRelay,
      inject: [Database, EventPublisher],
      useFactory: (database: Database, publisher: EventPublisher) =>
        new EventRelay(database, publisher, log),
    },
    EventGauge,
  ];
}
