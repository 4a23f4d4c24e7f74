import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDataSource } from '#database';
import { type App, type AppProcess, AppStack, eventually, migrate, TcpProxy } from '#testing';
import { serviceKeys } from '../../../libs/transport/src/wire.js';
import { expectRefused, probes } from '../testing/fault.world.js';
import { Traffic } from '../testing/traffic.js';

/** Deletions that a fault met are sent again after half a minute. */
const limitMs = 120_000;
const services: readonly Exclude<App, 'gateway'>[] = ['subscription', 'episode', 'deletion-worker'];
const twoOfEach = [...services, ...services];

let stack: AppStack;
const open = async () => void (stack = await AppStack.open({ durablePostgres: true, ownQueue: true }));

async function trafficAt(gateways: readonly AppProcess[], users = 6): Promise<Traffic> {
  const at = (n: number) => gateways[n % gateways.length] as AppProcess;
  return new Traffic(await Promise.all(Array.from({ length: users }, (_, n) => stack.device(at(n)))));
}

/** Waits until so many more requests have ended, however. */
async function ended(traffic: Traffic, count: number): Promise<void> {
  const enough = traffic.exchanges.length + count;
  await eventually(() => assert(traffic.exchanges.length >= enough), { timeout: 30_000 });
}

async function healed(gateway: AppProcess): Promise<void> {
  const device = await stack.device(gateway);
  for (const [path, status] of Object.values(probes))
    await eventually(async () => expect(await device.send('GET', path)).toMatchObject({ status }), { timeout: 30_000 });
}

/** How many replicas of each service clients may count on. */
async function countedOn(): Promise<number[]> {
  const redis = new Redis(stack.redis.url);
  try {
    const now = Number((await redis.time())[0]) * 1_000;
    return await Promise.all(
      ['subscription', 'episode', 'deletion'].map((name) => redis.zcount(serviceKeys(name).alive, now, '+inf')),
    );
  } finally {
    redis.disconnect();
  }
}

async function asOwner<Result>(run: (owner: ReturnType<typeof createDataSource>) => Promise<Result>): Promise<Result> {
  const owner = await createDataSource({ url: stack.postgres.url, poolSize: 1 }).initialize();
  return run(owner).finally(() => owner.destroy());
}

/** Requests go on, and end in nothing but answers and 503; what was acknowledged is there, each deletion carried out. */
async function endWell(traffic: Traffic, processes: readonly AppProcess[]): Promise<void> {
  await traffic.goOn();
  await traffic.stop();
  const { exchanges, failed } = traffic;
  console.log(`${exchanges.length} requests, ${failed.length} of them refused`);
  const errors = processes
    .flatMap(({ output }) => output.split('\n'))
    .filter((line) => /"level":"(error|fatal)/.test(line));
  assert.deepEqual(traffic.unclean, [], errors.join('\n'));
  await asOwner(async (owner) => {
    const rows = await owner.query<object[]>("SELECT * FROM deletion.deletions WHERE status <> 'SUCCESS'");
    assert.deepEqual(rows, []);
  });
}

describe('a rollout', { timeout: limitMs }, () => {
  beforeAll(open);
  afterAll(() => stack.close());

  it('of code before its migrations: 503 and nothing else until they are applied, then all is answered', async () => {
    await asOwner(async (owner) => {
      await owner.undoLastMigration();
      await owner.undoLastMigration();
    });
    const gateways = await stack.start(['gateway', 'gateway']);
    const starting = stack.start(twoOfEach);
    const traffic = await trafficAt(gateways);
    await ended(traffic, 200);
    expect(traffic.failed).toHaveLength(traffic.exchanges.length);
    expect(await countedOn()).toEqual([0, 0, 0]);

    await migrate(stack.postgres.url);
    const replicas = await starting;
    expect(await countedOn()).toEqual([2, 2, 2]);
    await endWell(traffic, [...gateways, ...replicas]);
    for (const { output } of replicas) expect(output).toMatch(/a migration: CountEpisodes/);
  });

  it.runIf(process.env.TEST_FULL)(
    'in which a migration is missing for a while beneath replicas that serve: they leave, and come back after it',
    async () => {
      const gateways = await stack.start(['gateway', 'gateway']);
      await healed(gateways[0]!);
      const traffic = await trafficAt(gateways);
      await traffic.goOn();
      await asOwner((owner) => eventually(() => owner.undoLastMigration()));
      await eventually(async () => expect((await countedOn())[1]).toBe(0));
      await ended(traffic, 100);
      await migrate(stack.postgres.url);
      await endWell(traffic, gateways);
      expect(await countedOn()).toEqual([2, 2, 2]);
    },
  );

  it('in which tables and rights are not there yet while all migrations are said to be: 503, and deletions wait', async () => {
    const [gateway] = await stack.start(['gateway']);
    await healed(gateway!);
    const traffic = await trafficAt([gateway!]);
    await traffic.goOn();
    const wait = (change: string, back: string) =>
      asOwner(async (owner) => {
        await eventually(() => owner.query(change));
        await ended(traffic, 100);
        await eventually(() => owner.query(back));
        await traffic.goOn();
      });
    await wait('ALTER TABLE episode.episodes RENAME TO later', 'ALTER TABLE episode.later RENAME TO episodes');
    await wait(
      'REVOKE USAGE ON SCHEMA episode FROM podcast_sync_deletion_group, podcast_sync_episode_group',
      'GRANT USAGE ON SCHEMA episode TO podcast_sync_deletion_group, podcast_sync_episode_group',
    );
    await endWell(traffic, [gateway!]);
  });
});

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

  it('leaves its requests to the other one, and takes its share again afterwards', async () => {
    const [gateway, , lonely] = await stack
      .start(['gateway', 'subscription'])
      .then(async (first) => [
        ...first,
        ...(await stack.start(['subscription'], { DATABASE_URL: proxy.url, OPS_PORT: '0' })),
      ]);
    const device = await stack.device(gateway!);
    const list = async () => (await device.send('GET', '/subscriptions')).status;
    const handled = async () => {
      const text = await (await fetch(`http://127.0.0.1:${String(lonely!.facts['opsPort'])}/metrics`)).text();
      return Number(/^podcast_sync_transport_handled_total (\d+)/m.exec(text)?.[1]);
    };
    const many = () => Promise.all(Array.from({ length: 40 }, list));
    const readyz = async () => (await fetch(`http://127.0.0.1:${String(lonely!.facts['opsPort'])}/readyz`)).status;
    await eventually(async () => {
      await many();
      expect(await handled()).toBeGreaterThan(0);
    });

    proxy.refuse();
    await eventually(async () => expect((await countedOn())[0]).toBe(1));
    // What its last read was waiting for may still come to it.
    await eventually(async () => {
      const before = await handled();
      expect(new Set([...(await many()), ...(await many())])).toEqual(new Set([200]));
      expect(await handled()).toBe(before);
    });
    expect(await readyz()).toBe(503);

    proxy.accept();
    await eventually(async () => expect((await countedOn())[0]).toBe(2));
    expect(await readyz()).toBe(200);
    const before = await handled();
    await eventually(async () => {
      expect(new Set(await many())).toEqual(new Set([200]));
      expect(await handled()).toBeGreaterThan(before);
    });
  });

  it('and has no other beside it: refused at once, and answered when it is back', async () => {
    const [gateway] = await stack.start(['gateway']);
    await stack.start(['episode'], { DATABASE_URL: proxy.url.replace('subscription', 'episode') });
    const device = await stack.device(gateway!);
    const list = () => device.send('GET', '/episodes');
    await eventually(async () => expect(await list()).toMatchObject({ status: 200 }));
    proxy.refuse();
    await eventually(async () => expect((await countedOn())[1]).toBe(0));
    for (let n = 0; n < 20; n += 1) expect((await list()).status).toBe(503);
    proxy.accept();
    await eventually(async () => expect(await list()).toMatchObject({ status: 200 }));
  });
});

describe('a gateway that starts while Redis is away', { timeout: limitMs }, () => {
  beforeAll(open);
  afterAll(() => stack.close());

  it('refuses at once, says on its ops port what is missing, and serves when Redis is back', async () => {
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
    await healed(gateway!);
    await eventually(async () => expect((await ready()).status).toBe(200));
  });
});
