import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { eventually, startRedisServer, TcpProxy, type TestServer } from '#testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ClockHints, clockChannel } from './clock.hints.js';
import { ClockListener, type ListenerPace } from './clock.listener.js';
import { createLog } from '#runtime';
import { connectRedis, redisConfig } from './redis.connection.js';

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

async function listener(url = server.url, pace?: ListenerPace) {
  const heard: string[] = [];
  let losses = 0;
  const events = {
    onHint: (user: string, at: string) => heard.push(`${user} ${at}`),
    onLost: () => (losses += 1),
  };
  const connect = () => connectRedis(redisConfig.parse({ REDIS_URL: url }));
  const ear = new ClockListener(connect(), connect(), events, log, pace);
  closing.push(() => ear.close());
  await eventually(() => expect(ear.isUp).toBe(true));
  return { ear, heard, losses: () => losses };
}
const teller = async (url?: string) => new ClockHints(await connected(url), log);

describe('a listener', () => {
  it('hears of whom it listens to, and is sent nothing of others', async () => {
    const [{ ear, heard }, hints, redis] = [await listener(), await teller(), await connected()];
    const [ann, bob] = [randomUUID(), randomUUID()];
    await ear.listen(ann);
    for (const user of [bob, ann, bob]) hints.tell(user, stamp);
    await eventually(() => expect(heard).toEqual([`${ann} ${stamp}`]));
    expect(await redis.pubsub('NUMSUB', clockChannel(ann), clockChannel(bob))).toEqual([
      clockChannel(ann),
      1,
      clockChannel(bob),
      0,
    ]);
  });

  it('forgets, and may listen again at once', async () => {
    const [{ ear, heard }, hints] = [await listener(), await teller()];
    const ann = randomUUID();
    await ear.listen(ann);
    ear.forget(ann);
    await Promise.all([ear.listen(ann), ear.listen(ann)]);
    hints.tell(ann, stamp);
    await eventually(() => expect(heard).toHaveLength(1));
    expect(ear.size).toBe(1);
  });

  it('says that it can not, where Redis is away, and that something may be lost, once it is there again', async () => {
    const proxy = await TcpProxy.to(server.url);
    const { ear, losses } = await listener(proxy.url);
    await ear.listen('ann');
    proxy.refuse();
    await eventually(() => expect(ear.isUp).toBe(false));
    await expect(ear.listen('bob')).rejects.toMatchObject({ code: 'unavailable' });
    expect([ear.size, losses()]).toEqual([0, 0]);
    proxy.accept();
    await eventually(() => expect(losses()).toBe(1));
    await ear.listen('ann');
    proxy.close();
  });

  it('notices that it missed a word', async () => {
    const { ear, losses } = await listener(server.url, { beatMs: 50, deafMs: 60_000 });
    await ear.listen('ann');
    const redis = await connected();
    const [own = ''] = (await redis.pubsub('CHANNELS', 'clock:listener:*')) as string[];
    await redis.publish(own, '1000000');
    await eventually(() => expect(losses()).toBeGreaterThan(0));
    expect([ear.isUp, ear.size]).toEqual([true, 0]);
  });

  it('notices that it is deaf, though its connection looks well', async () => {
    const pace = { beatMs: 50, deafMs: 500 };
    const { ear, losses } = await listener(server.url, pace);
    await ear.listen('ann');
    const redis = await connected();
    // Imitates a server that no longer receives publications.
    const [own] = (await redis.pubsub('CHANNELS', 'clock:listener:*')) as string[];
    await (ear as unknown as { redis: Redis }).redis.unsubscribe(own as string);
    await eventually(() => expect(losses()).toBe(1));
    expect(ear.isUp).toBe(true);
  });
});

describe('telling', () => {
  it('waits for nobody, and drops what Redis can not be told now', async () => {
    const proxy = await TcpProxy.to(server.url);
    const hints = await teller(proxy.url);
    proxy.hold();
    for (let n = 0; n < 1_500; n += 1) hints.tell(randomUUID(), stamp);
    expect(hints.counts).toEqual({ sent: 0, dropped: 500 });
    proxy.release();
    await eventually(() => expect(hints.counts).toEqual({ sent: 1_000, dropped: 500 }));
    proxy.refuse();
    await eventually(() => {
      hints.tell(randomUUID(), stamp);
      expect(hints.counts.dropped).toBeGreaterThan(500);
    });
    proxy.close();
  });
});
