import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { eventually, startRedisServer, TcpProxy, type TestServer } from '#testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ClockNotifier, clockChannel } from './clock-notifier.js';
import { ClockSubscriptions, type HeartbeatTimings } from './clock-subscriptions.js';
import { createLog } from '#runtime';
import { connectRedis, redisConfig } from './redis-connection.js';

const log = createLog('test', 'silent');
const stamp = '2026-01-01T00:00:00.000Z';
let server: TestServer;
const closing: (() => void)[] = [];

beforeAll(async () => {
  server = await startRedisServer();
});
afterEach(() => closing.splice(0).forEach((close) => close()));
afterAll(() => server.dispose());

async function connected(url = server.url): Promise<Redis> {
  const redis = connectRedis(redisConfig.parse({ REDIS_URL: url })) as Redis;
  closing.push(() => redis.disconnect());
  await once(redis, 'ready');
  return redis;
}

async function subscriber(url = server.url, timings?: HeartbeatTimings) {
  const received: string[] = [];
  let losses = 0;
  const events = {
    onNotification: (user: string, at: string) => received.push(`${user} ${at}`),
    onReconnected: () => (losses += 1),
  };
  const connect = () => connectRedis(redisConfig.parse({ REDIS_URL: url }));
  const subscriptions = new ClockSubscriptions(connect(), connect(), events, log, timings);
  closing.push(() => subscriptions.close());
  await eventually(() => expect(subscriptions.isUp).toBe(true));
  return { subscriptions, received, losses: () => losses };
}
const newNotifier = async (url?: string) => new ClockNotifier(await connected(url), log);

describe('ClockSubscriptions', () => {
  it('receives notifications of subscribed users only', async () => {
    const [{ subscriptions, received }, notifier, redis] = [
      await subscriber(),
      await newNotifier(),
      await connected(),
    ];
    const [ann, bob] = [randomUUID(), randomUUID()];
    await subscriptions.subscribe(ann);
    for (const user of [bob, ann, bob]) notifier.notify(user, stamp);
    await eventually(() => expect(received).toEqual([`${ann} ${stamp}`]));
    expect(await redis.pubsub('NUMSUB', clockChannel(ann), clockChannel(bob))).toEqual([
      clockChannel(ann),
      1,
      clockChannel(bob),
      0,
    ]);
  });

  it('subscribes again after an unsubscription', async () => {
    const [{ subscriptions, received }, notifier] = [await subscriber(), await newNotifier()];
    const ann = randomUUID();
    await subscriptions.subscribe(ann);
    subscriptions.unsubscribe(ann);
    await Promise.all([subscriptions.subscribe(ann), subscriptions.subscribe(ann)]);
    notifier.notify(ann, stamp);
    await eventually(() => expect(received).toHaveLength(1));
    expect(subscriptions.size).toBe(1);
  });

  it('rejects without Redis, and reports a possible loss after a reconnect', async () => {
    const proxy = await TcpProxy.to(server.url);
    const { subscriptions, losses } = await subscriber(proxy.url);
    await subscriptions.subscribe('ann');
    proxy.refuse();
    await eventually(() => expect(subscriptions.isUp).toBe(false));
    await expect(subscriptions.subscribe('bob')).rejects.toMatchObject({ code: 'unavailable' });
    expect([subscriptions.size, losses()]).toEqual([0, 0]);
    proxy.accept();
    await eventually(() => expect(losses()).toBe(1));
    await subscriptions.subscribe('ann');
    proxy.close();
  });

  it('reports a loss before the first heartbeat if users are subscribed', async () => {
    const [reading, writing] = await Promise.all([
      TcpProxy.to(server.url),
      TcpProxy.to(server.url),
    ]);
    writing.refuse();
    let losses = 0;
    const connect = (url: string) => connectRedis(redisConfig.parse({ REDIS_URL: url }));
    const subscriptions = new ClockSubscriptions(
      connect(reading.url),
      connect(writing.url),
      { onNotification: () => {}, onReconnected: () => (losses += 1) },
      log,
    );
    closing.push(() => subscriptions.close());
    await eventually(() => subscriptions.subscribe('ann'));
    reading.cut();
    await eventually(() => expect(subscriptions.size).toBe(0));
    writing.accept();
    await eventually(() => expect(losses).toBe(1));
    for (const proxy of [reading, writing]) proxy.close();
  });

  it('reports a missed heartbeat', async () => {
    const { subscriptions, losses } = await subscriber(server.url, {
      heartbeatIntervalMs: 50,
      heartbeatTimeoutMs: 60_000,
    });
    await subscriptions.subscribe('ann');
    const redis = await connected();
    const [own = ''] = (await redis.pubsub('CHANNELS', 'clock:listener:*')) as string[];
    await redis.publish(own, '1000000');
    await eventually(() => expect(losses()).toBeGreaterThan(0));
    expect([subscriptions.isUp, subscriptions.size]).toEqual([true, 0]);
  });

  it('reports missing heartbeats of an intact connection', async () => {
    const timings = { heartbeatIntervalMs: 50, heartbeatTimeoutMs: 500 };
    const { subscriptions, losses } = await subscriber(server.url, timings);
    await subscriptions.subscribe('ann');
    const redis = await connected();
    // Imitates a server that no longer receives publications.
    const [own] = (await redis.pubsub('CHANNELS', 'clock:listener:*')) as string[];
    await (subscriptions as unknown as { redis: Redis }).redis.unsubscribe(own as string);
    await eventually(() => expect(losses()).toBe(1));
    expect(subscriptions.isUp).toBe(true);
  });
});

describe('ClockNotifier', () => {
  it('drops notifications above its limit and without Redis', async () => {
    const proxy = await TcpProxy.to(server.url);
    const notifier = await newNotifier(proxy.url);
    proxy.hold();
    for (let n = 0; n < 1_500; n += 1) notifier.notify(randomUUID(), stamp);
    expect(notifier.counts).toEqual({ sent: 0, dropped: 500 });
    proxy.release();
    await eventually(() => expect(notifier.counts).toEqual({ sent: 1_000, dropped: 500 }));
    proxy.refuse();
    await eventually(() => {
      notifier.notify(randomUUID(), stamp);
      expect(notifier.counts.dropped).toBeGreaterThan(500);
    });
    proxy.close();
  });
});
