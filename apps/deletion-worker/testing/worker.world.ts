import { Queue } from 'bullmq';
import { inject } from 'vitest';
import { deletionQueue } from '#contracts';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { type DatabaseWorld, openDatabase } from '../../../libs/database/testing/database.world.js';
import { call } from '../../../libs/transport/testing/handler.call.js';
import { type DeletionQuotas, deletionWorkerConfig } from '../src/deletion-worker.config.js';
import { ErasureNotice } from '../src/erasure/erasure.notice.js';
import { ErasureService } from '../src/erasure/erasure.service.js';
import { DeletionProcessor } from '../src/queue/deletion.processor.js';
import { DeletionRelay } from '../src/queue/deletion.relay.js';
import { DeletionService } from '../src/records/deletion.service.js';
import { QueueConnections } from '../src/queue/queue.connections.js';

export const log = createLog('test', 'silent');

/** What the worker is made of, on a database of its own with its own login, and a queue of its own. */
export interface WorkerWorld extends DatabaseWorld {
  queue: Queue;
  relay: DeletionRelay;
  service: DeletionService;
  erasures: ErasureService;
  /** A relay beside the first, as another replica has one. */
  anotherRelay(): DeletionRelay;
  /** A processor that takes jobs from when it is started. */
  processor(): DeletionProcessor;
  /** Asks for a deletion, as DELETE does. @returns the id of its record. */
  request(userId: string, guid: string, requestId?: string): Promise<number>;
}

/** The quotas where nothing else is said. */
const defaults = deletionWorkerConfig.parse({ DATABASE_URL: 'postgres://database' });

/** @param redisUrl where the queue is; the Redis of the run when omitted. */
export async function openWorker(
  redisUrl = inject('servers').redisUrl,
  quotas: Partial<DeletionQuotas> = {},
): Promise<WorkerWorld> {
  const world = await openDatabase('deletion');
  const { database } = world;
  const redis = redisConfig.parse({ REDIS_URL: redisUrl });
  const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
  const prefix = `{${world.name}}`;
  const queue = connections.watch(
    new Queue(deletionQueue.name, {
      ...connections.forQueue,
      prefix,
      defaultJobOptions: { attempts: 10, backoff: { type: 'fixed', delay: 20 } },
    }),
  );
  await queue.waitUntilReady();
  const relays: DeletionRelay[] = [];
  const anotherRelay = () => {
    const relay = new DeletionRelay(database, queue, log);
    relays.push(relay);
    return relay;
  };
  const relay = anotherRelay();
  const service = new DeletionService(database, relay, { ...defaults, ...quotas });
  const notice = new ErasureNotice(connectRedis(redis), log);
  const erasures = new ErasureService(database, relay, notice);
  return {
    ...world,
    queue,
    relay,
    service,
    erasures,
    anotherRelay,
    request: async (userId, guid, requestId) => (await service.request({ userId, guid }, call(requestId))).deletionId,
    processor: () => new DeletionProcessor(service, erasures, database, { ...connections.forWorker, prefix }, log),
    close: async () => {
      await Promise.all(relays.map((each) => each.beforeApplicationShutdown()));
      await queue.obliterate({ force: true }).catch(() => undefined);
      notice.onApplicationShutdown();
      await connections.onApplicationShutdown();
      await world.close();
    },
  };
}
