import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EventKind, eventStream } from '#contracts';
import { connectRedis, redisConfig } from '#redis';
import { eventually, freshUser, startRedisServer, TcpProxy } from '#testing';
import { type EventContext, openEvents } from '../../testing/event.fixture.js';
import { EventPublisher } from './event-publisher.js';

let context: EventContext;
beforeAll(async () => {
  context = await openEvents();
});
afterAll(() => context.close());
afterEach(async () => {
  await context.redis.del(eventStream.key, eventStream.batchKey);
  await context.owner.query('DELETE FROM sync.events');
});

/** Publishes the outbox as soon as a relay has a connection to Redis. */
const announce = (relay = context.relay()) => eventually(() => relay.publishBatch());

describe('an event', () => {
  it('has user, kinds and stamp, and combines the writes of a batch', async () => {
    const [user, other] = [freshUser(), freshUser()];
    await context.write(user, 'episodes');
    await context.write(user, 'deletions');
    const stamp = await context.write(user, 'episodes');
    const stampOfOther = await context.write(other, 'subscriptions');
    expect(await announce()).toBe(2);
    expect(await context.waiting()).toBe(0);
    expect(new Set(await context.events())).toEqual(
      new Set([
        { user, kinds: 'episodes,deletions', stamp },
        { user: other, kinds: 'subscriptions', stamp: stampOfOther },
      ]),
    );
  });

  it('exists only for writes that change something', async () => {
    const [userId, requestId] = [freshUser(), randomUUID()];
    const changes: EventKind[] = ['subscriptions'];
    const write = { userId, requestId, changes, smallAnswer: true, remainingMs: () => 5_000 };
    const fails = context.database.write(write, async () => {
      throw new Error('fails');
    });
    await expect(fails).rejects.toThrow('fails');
    expect(await context.waiting()).toBe(0);
    for (let time = 0; time < 2; time += 1) await context.database.write(write, async () => 'done');
    expect(await context.waiting()).toBe(1);
    await context.write(userId);
    expect(await context.waiting()).toBe(1);
  });

  it('has several kinds if the write changes several', async () => {
    const changes: EventKind[] = ['subscriptions'];
    const write = { userId: freshUser(), requestId: randomUUID(), changes, smallAnswer: true };
    await context.database.write(
      { ...write, remainingMs: () => 5_000 },
      async ({ addEventKinds }) => {
        addEventKinds('episodes');
      },
    );
    await announce();
    expect(await context.events()).toMatchObject([{ kinds: 'subscriptions,episodes' }]);
  });

  it('does not exist before the commit', async () => {
    await context.owner.query(
      `BEGIN;
       SELECT sync.begin_write(gen_random_uuid(), gen_random_uuid(), NULL, true, 1::smallint)`,
    );
    expect(await announce()).toBe(0);
    await context.owner.query('COMMIT');
    expect(await announce()).toBe(1);
  });
});

describe('a relay', () => {
  it.each([
    ['does not append it after a later one', true],
    ['appends it if batch numbers are missing', false],
  ])('that lost Postgres with a batch in flight %s', async (_, fenced) => {
    const user = freshUser();
    const wire = await TcpProxy.to(context.server.url);
    const cutOff = context.relay(10, wire.url);
    await context.write(user, 'episodes');
    await eventually(async () => expect(await cutOff.publishBatch()).toBe(1));
    const first = await context.write(user, 'episodes');
    wire.hold();
    const late = cutOff.publishBatch();
    late.catch(() => undefined);
    // The relay has received its rows, so that its batch is on the way to Redis.
    const holder = `SELECT pg_terminate_backend(a.pid)
      FROM pg_stat_activity a JOIN pg_locks l USING (pid)
      WHERE l.locktype = 'advisory' AND l.granted AND a.state = 'idle in transaction'
        AND a.datname = current_database()`;
    await eventually(async () => expect((await context.owner.query(holder)).rowCount).toBe(1));
    const second = await context.write(user, 'episodes');
    const other = context.relay();
    await eventually(async () => expect(await other.publishBatch()).toBe(1));
    if (!fenced) await context.redis.del(eventStream.batchKey);
    wire.release();
    await expect(late).rejects.toThrow(fenced ? /Redis rejected event batch/ : /unavailable/);
    const stamps = (await context.events()).map(({ stamp }) => stamp);
    expect(stamps.slice(stamps.indexOf(second))).toEqual(fenced ? [second] : [second, first]);
    wire.close();
  });

  it('continues after a restored backup reset the batch numbers', async () => {
    const relay = context.relay();
    await context.write(freshUser(), 'episodes');
    await announce(relay);
    await context.owner.query("SELECT setval('sync.event_batch', 1)");
    await context.write(freshUser(), 'episodes');
    await expect(relay.publishBatch()).rejects.toThrow(/Redis rejected event batch/);
    expect(await context.waiting()).toBe(1);
    expect(await relay.publishBatch()).toBe(1);
    expect(await context.events()).toHaveLength(2);
  });

  it('keeps rows while Redis is unavailable, and publishes them afterwards', async () => {
    const relay = context.relay();
    await context.write(freshUser(), 'episodes');
    await context.server.kill();
    await expect(relay.publishBatch()).rejects.toThrow(/closed|writeable|ECONN/);
    expect(await context.waiting()).toBe(1);
    await context.server.start();
    await eventually(() => relay.publishBatch());
    expect(await context.events()).toHaveLength(1);
  });

  it('limits the length of the stream approximately', async () => {
    const pipeline = context.redis.pipeline();
    for (let n = 0; n < 12_000; n += 1) pipeline.xadd(eventStream.key, '*', 'n', n);
    await pipeline.exec();
    await context.write(freshUser(), 'episodes');
    await announce();
    expect(await context.redis.xlen(eventStream.key)).toBeLessThan(10_200);
  });
});

it('a Redis that cannot confirm its disk is accepted and logged once', async () => {
  const server = await startRedisServer();
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const config = redisConfig.parse({ REDIS_URL: server.url });
  const publisher = new EventPublisher(
    connectRedis(config, { enableOfflineQueue: true }),
    { maxEntries: 1_000, replicas: 0 },
    log,
  );
  for (const number of [1, 2]) await publisher.publish({ number, events: [] });
  expect(await publisher.publish({ number: 1, events: [] })).toBe(2);
  expect(lines.filter((line) => line.includes('can be lost in a crash'))).toHaveLength(1);
  publisher.onApplicationShutdown();
  await server.dispose();
});
