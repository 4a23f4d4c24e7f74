import { Queue } from 'bullmq';
import { inject } from 'vitest';
import { deletionQueue } from '#contracts';
import { RevocationWriter } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { Fixture, type FixtureDatabase } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { type DeletionQuotas, deletionWorkerConfig } from '../src/deletion-worker.config.js';
import { ErasureService } from '../src/erasure/erasure.service.js';
import { AofCleaner } from '../src/erasure/aof-cleaner.js';
import { DeletionProcessor } from '../src/deletion-processor.js';
import { DeletionRelay } from '../src/queue/deletion-relay.js';
import { DeletionService } from '../src/records/deletion.service.js';
import { QueueConnections } from '../src/queue/queue-connections.js';

export const log = createLog('test', 'silent');

/** The classes of the worker, on a separate database with the worker's login, and a queue. */
export interface WorkerContext extends FixtureDatabase {
  queue: Queue;
  relay: DeletionRelay;
  service: DeletionService;
  erasures: ErasureService;
  /** Creates a second relay, as in another replica. */
  anotherRelay(): DeletionRelay;
  /** Creates a processor without starting it. */
  processor(): DeletionProcessor;
  /** Requests a deletion, as DELETE does. @returns the id of its record. */
  request(userId: string, guid: string, requestId?: string): Promise<number>;
  close(): Promise<void>;
}

/** The default quotas. */
const defaults = deletionWorkerConfig.parse({ DATABASE_URL: 'postgres://database' });

/**
 * Creates the classes of the worker.
 *
 * @param redisUrl URL of the Redis of the queue, by default that of the test run.
 */
export async function openWorker(
  redisUrl = inject('servers').redisUrl,
  quotas: Partial<DeletionQuotas> = {},
): Promise<WorkerContext> {
  const fixture = new Fixture();
  const base = await fixture.database('deletion');
  const { database } = base;
  const redis = redisConfig.parse({ REDIS_URL: redisUrl });
  const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
  fixture.onClose(() => connections.onApplicationShutdown());
  const prefix = `{${base.name}}`;
  const queue = connections.addQueue(
    new Queue(deletionQueue.name, {
      ...connections.forQueue,
      prefix,
      defaultJobOptions: { attempts: 10, backoff: { type: 'fixed', delay: 20 } },
    }),
  );
  await queue.waitUntilReady();
  fixture.onClose(() => queue.obliterate({ force: true }).catch(() => undefined));
  const anotherRelay = () => {
    const relay = new DeletionRelay(database, queue, log);
    fixture.onClose(() => relay.beforeApplicationShutdown());
    return relay;
  };
  const relay = anotherRelay();
  const service = new DeletionService(database, relay, { ...defaults, ...quotas });
  const requests = connectRedis(redis);
  const aofCleaner = new AofCleaner(requests, log);
  fixture.onClose(() => aofCleaner.onApplicationShutdown());
  const erasures = new ErasureService(
    database,
    relay,
    new RevocationWriter(requests, log),
    aofCleaner,
  );
  return {
    ...base,
    queue,
    relay,
    service,
    erasures,
    anotherRelay,
    request: async (userId, guid, requestId) =>
      (await service.request({ userId, guid }, call(requestId))).deletionId,
    processor: () =>
      new DeletionProcessor(service, erasures, database, { ...connections.forWorker, prefix }, log),
    close: () => fixture.close(),
  };
}
