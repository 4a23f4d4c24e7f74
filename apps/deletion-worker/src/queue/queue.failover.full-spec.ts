import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Queue } from 'bullmq';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createDataSource, Database } from '#database';
import { DatabaseModule } from '#runtime/service';
import { createDatabase, eventually } from '#testing';
import { RedisGroup } from '../../../../libs/transport/testing/redis.group.js';
import { StoredUser } from '../../testing/stored.user.js';
import { call, log } from '../../testing/worker.world.js';
import { DeletionModule } from '../deletion.module.js';
import { DeletionService } from '../records/deletion.service.js';
import { deletionWorkerConfig } from '../deletion-worker.config.js';

/** How long another server needs to be elected, and the queue to find it. */
const failoverMs = 60_000;

/** The worker's module as its process runs it, with a queue on servers of its own. */
async function openWorker(redis: Record<string, string>) {
  const database = await createDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const dataSource = await createDataSource({ url: database.urls.deletion, poolSize: 10 }).initialize();
  const queueRedis = Object.fromEntries(Object.entries(redis).map(([name, value]) => [`QUEUE_${name}`, value]));
  const config = deletionWorkerConfig.parse({ DATABASE_URL: database.urls.deletion, ...queueRedis });
  @Module({ imports: [DatabaseModule.forRoot(new Database(dataSource)), DeletionModule.forRoot(config, log)] })
  class WorkerModule {}
  const app = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
  return {
    owner,
    deletions: app.get(DeletionService),
    queue: app.get(Queue),
    close: async () => {
      await app.close();
      await dataSource.destroy();
      await owner.end();
      await database.drop();
    },
  };
}

describe('when a master of the queue is killed', { timeout: 150_000 }, () => {
  for (const secured of [false, true])
    it(`deletions queued before in a Redis Cluster${secured ? ' with TLS and a password' : ''} finish, and nothing was restarted`, async () => {
      const group = await RedisGroup.cluster({ secured });
      const worker = await openWorker(group.environment);
      try {
        await eventually(() => worker.queue.pause(), { timeout: 10_000 });
        const records = await Promise.all(Array.from({ length: 20 }, () => requestOne(worker)));
        await eventually(async () => expect(await worker.queue.getWaitingCount()).toBe(records.length));
        const killed = performance.now();
        await group.killMasterOf('{bull}');
        await eventually(() => worker.queue.resume(), { timeout: failoverMs });
        const statuses = () => Promise.all(records.map(({ user, id }) => user.record(id)));
        await eventually(
          async () => expect(new Set((await statuses()).map(({ status }) => status))).toEqual(new Set(['SUCCESS'])),
          { timeout: failoverMs, interval: 250 },
        );
        console.log(`all finished ${Math.round(performance.now() - killed)} ms after the kill`);
        expect(new Set((await statuses()).map(({ attempts }) => attempts))).toEqual(new Set([0]));
      } finally {
        await worker.close();
        await group.dispose();
      }
    });
});

async function requestOne({ owner, deletions }: Awaited<ReturnType<typeof openWorker>>) {
  const user = new StoredUser(owner);
  const guid = randomUUID();
  await user.subscribe(guid);
  const { deletionId } = await deletions.request({ userId: user.id, guid }, call());
  return { user, id: deletionId };
}
