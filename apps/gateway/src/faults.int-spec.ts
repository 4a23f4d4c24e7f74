import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AppProcess } from '#testing';
import { RedisGroup } from '../../../libs/transport/testing/redis.group.js';
import { serviceKeys } from '../../../libs/transport/src/wire.js';
import { deadlineMs, expectRefused, FaultWorld, healMs } from '../testing/fault.world.js';
import type { Traffic } from '../testing/traffic.js';

const full = Boolean(process.env.TEST_FULL);

/** A fault may make a deletion wait for half a minute. */
const limitMs = 120_000;

/** How long a Redis Cluster needs to elect another master, and all to find it. */
const electionMs = 30_000;

let world: FaultWorld;

/** Plays a fault while users read and write; whatever it is, nothing hangs, nothing is a 500, and nothing is lost. */
async function underTraffic(
  name: string,
  fault: (traffic: Traffic) => Promise<void>,
  healsWithinMs = healMs,
): Promise<Traffic> {
  const traffic = await world.traffic();
  await traffic.goOn();
  await fault(traffic);
  const healedMs = await world.heal(healsWithinMs);
  await traffic.goOn();
  await traffic.stop();
  const { exchanges, failed, longestMs } = traffic;
  console.log(
    `${name}: ${exchanges.length} requests, ${failed.length} refused, the longest took ${Math.round(longestMs)} ms, ` +
      `all well after ${healedMs} ms`,
  );
  assert.deepEqual(traffic.unclean, [], world.errors());
  assert.deepEqual(traffic.late, [], 'answered after the deadline');
  return traffic;
}

/** Everyone is refused at once, by every service. */
async function expectAllRefused(): Promise<void> {
  const device = await world.stack.device(world.gateways[0] as AppProcess);
  for (const answer of await world.ask(device)) expectRefused(answer);
}

describe('a fault of a replica', { timeout: limitMs }, () => {
  beforeAll(async () => void (world = await FaultWorld.open()));
  beforeEach(() => world.complete());
  afterAll(() => world.stack.close());

  it('SIGKILL of one replica of each service: what fails is refused by its deadline, and nothing is lost', async () => {
    await underTraffic('SIGKILL', async (traffic) => {
      await Promise.all(world.oneOfEach().map((replica) => replica.kill()));
      await traffic.goOn(200);
    });
  });

  it('SIGTERM of one replica of each service: nobody notices', async () => {
    const traffic = await underTraffic('SIGTERM', async () => {
      await Promise.all(world.oneOfEach().map((replica) => replica.stop()));
    });
    expect(traffic.failed).toEqual([]);
  });

  it.runIf(full)('a restart of all replicas, one by one: nobody notices', async () => {
    const traffic = await underTraffic('rolling restart', async () => {
      for (const replica of [...world.replicas].filter(({ hasExited }) => !hasExited)) {
        await replica.stop();
        await world.complete();
      }
    });
    expect(traffic.failed).toEqual([]);
  });

  it('no replica, never started: refused at once', async () => {
    const { url } = world.stack.redis;
    const [gateway] = await world.stack.start(['gateway'], { REDIS_URL: `${url}/1` });
    for (const answer of await world.ask(await world.stack.device(gateway!))) expectRefused(answer);
    await gateway!.stop();
  });

  it('no replica, all stopped in order: refused at once, and the other services serve', async () => {
    const device = await world.stack.device(world.gateways[0]!);
    await Promise.all(world.alive('episode').map((replica) => replica.stop()));
    const [subscriptions, episodes, deletion] = await world.ask(device);
    expectRefused(episodes!);
    expect([subscriptions!.status, deletion!.status]).toEqual([200, 404]);
  });

  it.runIf(full)('no replica, all killed: refused by the deadline, and at once from 2 s on', async () => {
    const device = await world.stack.device(world.gateways[0]!);
    const killed = performance.now();
    await Promise.all(world.replicas.map((replica) => replica.kill()));
    for (const answer of await world.ask(device)) expectRefused(answer, deadlineMs);
    expect(performance.now() - killed).toBeGreaterThan(2_000);
    await expectAllRefused();
  });

  it.runIf(full)('SIGKILL of one of two gateways: users of the other one do not notice', async () => {
    const [stays, goes] = world.gateways;
    const [served, cut] = [await world.traffic(4, [stays!]), await world.traffic(4, [goes!])];
    await Promise.all([served.goOn(), cut.goOn()]);
    await goes!.kill();
    await served.goOn(200);
    await served.stop();
    expect([...served.failed, ...served.unclean]).toEqual([]);
    expect(cut.unclean.every(({ what }) => !what.startsWith('foreign'))).toBe(true);
    await cut.abandon();
  });
});

const kinds = [
  { kept: 'empty', durableRedis: false },
  { kept: 'with all it had', durableRedis: true },
];

describe.each(full ? kinds : kinds.slice(0, 1))(
  'a fault of a server: Redis that comes back $kept',
  { timeout: limitMs },
  ({ durableRedis }) => {
    beforeAll(async () => void (world = await FaultWorld.open({ durableRedis })));
    beforeEach(() => world.complete());
    afterAll(() => world.stack.close());

    it('Redis killed and started again: refused at once meanwhile, and all heals by itself', async () => {
      const { redis } = world.stack;
      await underTraffic('Redis killed', async () => {
        await redis.kill();
        await expectAllRefused();
        await redis.start();
      });
      world.expectAllAlive();
    });

    it.runIf(full)('Redis silent for 3 s: the deadlines hold, and no answer goes to another caller', async () => {
      const { redis } = world.stack;
      await underTraffic('Redis silent', async () => {
        redis.pause();
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        redis.resume();
      });
      world.expectAllAlive();
    });

    it('Postgres killed and started again: refused at once meanwhile, and all heals by itself', async () => {
      const { postgres } = world.stack;
      await underTraffic('Postgres killed', async () => {
        await postgres.kill();
        await expectAllRefused();
        await postgres.start();
      });
      world.expectAllAlive();
    });
  },
);

describe.runIf(full)('a fault of a Redis Cluster that carries requests and queue', { timeout: limitMs }, () => {
  let cluster: RedisGroup;
  beforeAll(async () => {
    cluster = await RedisGroup.cluster();
    const { REDIS_CLUSTER = '' } = cluster.environment;
    world = await FaultWorld.open({ environment: { REDIS_CLUSTER, QUEUE_REDIS_CLUSTER: REDIS_CLUSTER } });
  });
  afterAll(async () => {
    await world.stack.close();
    await cluster.dispose();
  });

  it.each([
    ['requests', serviceKeys('subscription').requests],
    ['the queue', '{bull}'],
  ])('the master of %s killed: nothing is restarted, and deletions that were queued before end', async (_, key) => {
    await underTraffic('a master killed', () => cluster.killMasterOf(key), electionMs);
    world.expectAllAlive();
  });
});
