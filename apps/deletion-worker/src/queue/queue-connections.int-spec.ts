import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { pino } from 'pino';
import { expect, inject, it } from 'vitest';
import { connectRedis, redisConfig } from '#redis';
import { eventually, TcpProxy } from '#testing';
import { StoredUser } from '../../testing/stored-user.js';
import { log, openWorker } from '../../testing/worker.fixture.js';
import { QueueConnections } from './queue-connections.js';

it('a rejected password is logged once as an error, without the password', async () => {
  const { host } = new URL(inject('servers').redisUrl);
  const config = redisConfig.parse({ REDIS_URL: `redis://:not-the-password@${host}` });
  const logged: Record<string, unknown>[] = [];
  const lines = pino(
    { level: 'debug' },
    { write: (line: string) => void logged.push(JSON.parse(line)) },
  );
  const connections = new QueueConnections((overrides) => connectRedis(config, overrides), lines);
  // Each connection attempt logs a line at debug level.
  await eventually(() =>
    expect(logged.filter(({ level }) => level === 20).length).toBeGreaterThan(6),
  );
  const errors = logged.filter(({ level }) => level === 50);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ reason: expect.stringContaining('WRONGPASS') as string });
  expect(JSON.stringify(logged)).not.toContain('not-the-password');
  await connections.onApplicationShutdown();
});

it('a queue accepts jobs after a connection loss during its start', async () => {
  const proxy = await TcpProxy.to(inject('servers').redisUrl);
  const config = redisConfig.parse({ REDIS_URL: proxy.url });
  const connections = new QueueConnections((overrides) => {
    const connection = connectRedis(config, overrides);
    connection.once('ready', () => proxy.cut());
    return connection;
  }, log);
  const queue = connections.addQueue(new Queue(randomUUID(), connections.forQueue));
  try {
    await eventually(() => queue.add('one', {}));
  } finally {
    await connections.onApplicationShutdown();
    proxy.close();
  }
});

it('a worker continues after a connection loss with unanswered commands', async () => {
  const proxy = await TcpProxy.to(inject('servers').redisUrl);
  const context = await openWorker(proxy.url);
  const user = new StoredUser(context.owner);
  const deletions: number[] = [];
  const request = async () => {
    const guid = randomUUID();
    await user.subscribe(guid);
    return deletions.push(await context.request(user.id, guid));
  };
  const ended = async (id: number) => {
    context.relay.pollNow();
    expect(await user.record(id)).toMatchObject({ status: 'SUCCESS' });
  };
  const processor = context.processor();
  try {
    await request();
    await context.owner.query('BEGIN');
    await context.owner.query('SELECT FROM sync.user_clock WHERE user_id = $1 FOR UPDATE', [
      user.id,
    ]);
    await processor.onApplicationBootstrap();
    await eventually(async () => expect(await context.queue.getActiveCount()).toBe(1));
    proxy.hold();
    await context.owner.query('COMMIT');
    await eventually(() => ended(deletions[0]!));
    proxy.cut();
    await eventually(request);
    for (const id of deletions) await eventually(() => ended(id), { timeout: 20_000 });
  } finally {
    proxy.close();
    await processor.beforeApplicationShutdown();
    await context.close();
  }
});
