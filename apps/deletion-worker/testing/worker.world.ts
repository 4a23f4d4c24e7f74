import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import pg from 'pg';
import { inject } from 'vitest';
import { deletionQueue } from '#contracts';
import { createDataSource, Database } from '#database';
import { connectRedis, createLog, redisConfig } from '#runtime';
import { createDatabase, type TestDatabase } from '#testing';
import { CallContext } from '#transport';
import { type DeletionQuotas, deletionWorkerConfig } from '../src/deletion-worker.config.js';
import { DeletionProcessor } from '../src/queue/deletion.processor.js';
import { DeletionRelay } from '../src/queue/deletion.relay.js';
import { DeletionService } from '../src/records/deletion.service.js';
import { QueueConnections } from '../src/queue/queue.connections.js';

export const log = createLog('test', 'silent');

/** What the worker is made of, on a database of its own with its own login, and a queue of its own. */
export interface WorkerWorld {
  database: Database;
  queue: Queue;
  relay: DeletionRelay;
  service: DeletionService;
  /** A relay beside the first, as another replica has one. */
  anotherRelay(): DeletionRelay;
  /** A processor that takes jobs from when it is started. */
  processor(): DeletionProcessor;
  /** May look at and prepare everything. */
  owner: pg.Client;
  /** The database as each service logs in. */
  urls: TestDatabase['urls'];
  close(): Promise<void>;
}

/** The quotas where nothing else is said. */
const defaults = deletionWorkerConfig.parse({ DATABASE_URL: 'postgres://database' });

/** @param redisUrl where the queue is; the Redis of the run when omitted. */
export async function openWorker(
  redisUrl = inject('servers').redisUrl,
  quotas: Partial<DeletionQuotas> = {},
): Promise<WorkerWorld> {
  const testDatabase = await createDatabase();
  const owner = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await owner.connect();
  const dataSource = await createDataSource({ url: testDatabase.urls.deletion, poolSize: 10 }).initialize();
  const database = new Database(dataSource);
  const redis = redisConfig.parse({ REDIS_URL: redisUrl });
  const connections = new QueueConnections((overrides) => connectRedis(redis, overrides), log);
  const prefix = `{${testDatabase.name}}`;
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
  return {
    database,
    queue,
    relay,
    service,
    anotherRelay,
    owner,
    urls: testDatabase.urls,
    processor: () => new DeletionProcessor(service, database, { ...connections.forWorker, prefix }, log),
    close: async () => {
      await Promise.all(relays.map((each) => each.beforeApplicationShutdown()));
      await queue.obliterate({ force: true }).catch(() => undefined);
      await connections.onApplicationShutdown();
      await database.close();
      await owner.end();
      await testDatabase.drop();
    },
  };
}

/** A call as a handler sees it. */
export function call(requestId: string = randomUUID(), budgetMs = 10_000): CallContext {
  const request = { pattern: 'test', data: '', budgetMs, until: budgetMs, metadata: { requestId } };
  return new CallContext([{ id: '0-0', deadline: performance.now() + budgetMs, request }, () => performance.now()]);
}
