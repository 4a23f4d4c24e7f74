import { randomUUID } from 'node:crypto';
import type { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, freshUser } from '#testing';
import {
  type DatabaseContext,
  openDatabase,
} from '../../../../libs/database/testing/database-context.js';
import { RedisGroup } from '../../../../libs/transport/testing/redis-group.js';
import { eventsIn } from '../../testing/event-follower.js';
import { EventPublisher } from './event-publisher.js';
import { EventRelay } from './event-relay.js';

/** Time limit for the election of a new master and the reconnect of the relay, in milliseconds. */
const failoverMs = 60_000;

let context: DatabaseContext;
let group: RedisGroup;
let redis: Cluster;
let publisher: EventPublisher;
beforeAll(async () => {
  [context, group] = await Promise.all([openDatabase('deletion', true), RedisGroup.cluster()]);
  const connect = () => connectRedis(redisConfig.parse(group.environment));
  redis = connect() as Cluster;
  redis.on('error', () => undefined);
  const options = { maxEntries: 10_000, replicas: 1 };
  publisher = new EventPublisher(connect(), options, createLog('test', 'silent'));
});
afterAll(async () => {
  publisher.onApplicationShutdown();
  redis.disconnect();
  await Promise.all([context.close(), group.dispose()]);
});

/** Writes as a new user. @returns the user. */
async function write(): Promise<string> {
  const userId = freshUser();
  const one = {
    userId,
    requestId: randomUUID(),
    changes: ['episodes'] as const,
    smallAnswer: true,
  };
  await context.database.write({ ...one, remainingMs: () => 5_000 }, async () => 'done');
  return userId;
}

it('a Redis Cluster keeps events on a replica when their master is killed', async () => {
  const relay = new EventRelay(context.database, publisher, createLog('test', 'silent'));
  const users: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    users.push(await write());
    await eventually(async () => expect(await relay.publishBatch()).toBe(1));
  }
  await group.killMasterOf('events');
  const last = await write();
  // The replica is the master now and has no replica.
  const refused = () => expect(relay.publishBatch()).rejects.toThrow('fewer than 1 replicas');
  await eventually(refused, { timeout: failoverMs });
  const found = (await eventsIn(redis)).map(({ user }) => user);
  expect(found.slice(0, users.length)).toEqual(users);
  expect(found.at(-1)).toBe(last);
  expect((await context.owner.query('SELECT FROM sync.events')).rowCount).toBe(1);
}, 150_000);
