import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, AppStack, eventually, TcpProxy } from '#testing';
import { expectRefused, probes } from './testing/fault.stack.js';
import { countedOn, healed } from './testing/readiness.js';

const limitMs = 120_000;
const services: readonly Exclude<App, 'gateway'>[] = ['subscription', 'episode', 'deletion-worker'];

let stack: AppStack;
const open = async () =>
  void (stack = await AppStack.open({ durablePostgres: true, ownQueue: true }));

describe('a replica that loses Postgres', { timeout: limitMs }, () => {
  let proxy: TcpProxy;
  beforeAll(async () => {
    await open();
    proxy = await TcpProxy.to(stack.postgres.urls.subscription);
  });
  afterAll(async () => {
    proxy.close();
    await stack.close();
  });

  it('leaves requests to the other replica, and takes its share again afterwards', async () => {
    const [gateway, , lonely] = await stack
      .start(['gateway', 'subscription'])
      .then(async (first) => [
        ...first,
        ...(await stack.start(['subscription'], { DATABASE_URL: proxy.url, OPS_PORT: '0' })),
      ]);
    const device = await stack.device(gateway!);
    const list = async () => (await device.send('GET', '/subscriptions')).status;
    const handled = async () => {
      const text = await (
        await fetch(`http://127.0.0.1:${String(lonely!.facts['opsPort'])}/metrics`)
      ).text();
      return Number(/^podcast_sync_transport_handled_total (\d+)/m.exec(text)?.[1]);
    };
    const many = () => Promise.all(Array.from({ length: 40 }, list));
    const readyz = async () =>
      (await fetch(`http://127.0.0.1:${String(lonely!.facts['opsPort'])}/readyz`)).status;
    await eventually(async () => {
      await many();
      expect(await handled()).toBeGreaterThan(0);
    });

    proxy.refuse();
    await eventually(async () => expect((await countedOn(stack))[0]).toBe(1));
    // Its last blocking read can still receive a request.
    await eventually(async () => {
      const before = await handled();
      expect(new Set([...(await many()), ...(await many())])).toEqual(new Set([200]));
      expect(await handled()).toBe(before);
    });
    expect(await readyz()).toBe(503);

    proxy.accept();
    await eventually(async () => expect((await countedOn(stack))[0]).toBe(2));
    expect(await readyz()).toBe(200);
    const before = await handled();
    await eventually(async () => {
      expect(new Set(await many())).toEqual(new Set([200]));
      expect(await handled()).toBeGreaterThan(before);
    });
  });
});

describe('a gateway that starts without Redis', { timeout: limitMs }, () => {
  beforeAll(open);
  afterAll(() => stack.close());

  it('refuses requests, reports it on the ops port, and serves with Redis', async () => {
    const replicas = stack.start(services);
    await replicas;
    await stack.redis.stop();
    const limits = { RATE_LIMIT_PER_USER: '1000/60', RATE_LIMIT_PER_ADDRESS: '1000/60' };
    const [gateway] = await stack.start(['gateway'], { OPS_PORT: '0', ...limits });
    const ready = () => fetch(`http://127.0.0.1:${String(gateway!.facts['opsPort'])}/readyz`);
    const device = await stack.device(gateway!);
    for (const [path] of Object.values(probes)) expectRefused(await device.send('GET', path));
    const unready = await ready();
    expect([unready.status, await unready.text()]).toEqual([503, expect.stringContaining('Redis')]);

    await stack.redis.start();
    await healed(stack, gateway!);
    await eventually(async () => expect((await ready()).status).toBe(200));
  });
});
