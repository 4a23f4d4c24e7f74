import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Queue } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { DatabaseModule } from '#database';
import { eventually } from '#testing';
import { openDatabase } from '../../../../libs/database/testing/database-context.js';
import { call } from '../../../../libs/transport/testing/handler-call.js';
import { RedisGroup } from '../../../../libs/transport/testing/redis-group.js';
import { StoredUser } from '../../testing/stored-user.js';
import { log } from '../../testing/worker.fixture.js';
import { DeletionModule } from '../deletion.module.js';
import { DeletionService } from '../records/deletion.service.js';
import { deletionWorkerConfig } from '../deletion-worker.config.js';

/** Time limit for the election of a new master and the reconnect of the queue, in milliseconds. */
const failoverMs = 60_000;

/** The module of the worker, with its queue on a separate Redis. */
async function openWorker(redis: Record<string, string>) {
  const context = await openDatabase('deletion');
  const queueRedis = Object.fromEntries(
    Object.entries(redis).map(([name, value]) => [`QUEUE_${name}`, value]),
  );
  const config = deletionWorkerConfig.parse({ DATABASE_URL: context.urls.deletion, ...queueRedis });
  @Module({
    imports: [DatabaseModule.forRoot(context.database), DeletionModule.forRoot(config, log)],
  })
  class WorkerModule {}
  const app = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
  return {
    owner: context.owner,
    deletions: app.get(DeletionService),
    queue: app.get(Queue),
    close: async () => {
      await app.close();
      await context.close();
    },
  };
}

describe('after a master of the queue is killed', { timeout: 150_000 }, () => {
  for (const secured of [false, true])
    it(`queued deletions finish without a restart${secured ? ', with TLS' : ''}`, async () => {
      const group = await RedisGroup.cluster({ secured });
      const worker = await openWorker(group.environment);
      try {
        await eventually(() => worker.queue.pause(), { timeout: 10_000 });
        const records = await Promise.all(Array.from({ length: 20 }, () => requestOne(worker)));
        await eventually(async () =>
          expect(await worker.queue.getWaitingCount()).toBe(records.length),
        );
        const killed = performance.now();
        await group.killMasterOf('{bull}');
        await eventually(() => worker.queue.resume(), { timeout: failoverMs });
        const statuses = () => Promise.all(records.map(({ user, id }) => user.record(id)));
        await eventually(
          async () =>
            expect(new Set((await statuses()).map(({ status }) => status))).toEqual(
              new Set(['SUCCESS']),
            ),
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
  const { user, guid } = await StoredUser.subscriber(owner);
  const { deletionId } = await deletions.request({ userId: user.id, guid }, call());
  return { user, id: deletionId };
}
