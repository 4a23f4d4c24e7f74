import { randomUUID } from 'node:crypto';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { Fixture, SharedStack } from '#testing';
import { StreamClient } from '#transport';
import pg from 'pg';

/** Connects to the shared stack. @returns a client of its account app, until the fixture closes. */
export async function openServiceClient(fixture: Fixture) {
  const stack = await SharedStack.open();
  const owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  fixture.onClose(() => owner.end());
  const connect = () => connectRedis(redisConfig.parse({ REDIS_URL: stack.redis.url }));
  const client = new StreamClient({
    connect,
    log: createLog('test', 'silent'),
    services: ['account'],
  });
  await client.connect();
  fixture.onClose(() => client.close());
  const send = () => ({ requestId: randomUUID() });
  return { stack, owner, client, send };
}
