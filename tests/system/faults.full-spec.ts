import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RedisGroup } from '../../libs/transport/testing/redis.group.js';
import { serviceKeys } from '../../libs/transport/testing/internals.js';
import { deadlineMs, expectRefused, FaultStack } from './testing/fault.stack.js';

/** A deletion that a fault interrupts is sent again after half a minute. */
const limitMs = 120_000;

/** Time limit for the election of a Redis master and its discovery, in milliseconds. */
const electionMs = 30_000;

let world: FaultStack;

describe('a fault of a replica', { timeout: limitMs }, () => {
  beforeAll(async () => void (world = await FaultStack.open()));
  beforeEach(() => world.complete());
  afterAll(() => world.stack.close());

  it('a rolling restart of all replicas fails no request', async () => {
    const traffic = await world.underTraffic('rolling restart', async () => {
      for (const replica of [...world.replicas].filter(({ hasExited }) => !hasExited)) {
        await replica.stop();
        await world.complete();
      }
    });
    expect(traffic.failed).toEqual([]);
  });

  it('all replicas killed: refused by the deadline, and immediately from 2 s on', async () => {
    const device = await world.stack.device(world.gateways[0]!);
    const killed = performance.now();
    await Promise.all(world.replicas.map((replica) => replica.kill()));
    for (const answer of await world.ask(device)) expectRefused(answer, deadlineMs);
    expect(performance.now() - killed).toBeGreaterThan(2_000);
    await world.expectAllRefused();
  });

  it('SIGKILL of one of two gateways: users of the other one do not notice', async () => {
    const [stays, goes] = world.gateways;
    const [served, cut] = [await world.traffic(4, [stays!]), await world.traffic(4, [goes!])];
    await Promise.all([served.continueFor(), cut.continueFor()]);
    await goes!.kill();
    await served.continueFor(200);
    await served.stop();
    expect([...served.failed, ...served.unclean]).toEqual([]);
    expect(cut.unclean.every(({ what }) => !what.startsWith('foreign'))).toBe(true);
    await cut.abandon();
  });
});

it.each([false, true])(
  'Redis silent for 3 s (durable: %s): the deadlines hold, and no answer goes to another caller',
  async (durableRedis) => {
    world = await FaultStack.open({ durableRedis });
    try {
      const { redis } = world.stack;
      await world.underTraffic('Redis silent', async () => {
        redis.pause();
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        redis.resume();
      });
      world.expectAllAlive();
    } finally {
      await world.stack.close();
    }
  },
  limitMs,
);

describe('a fault of a Redis Cluster that carries requests and queue', { timeout: limitMs }, () => {
  let cluster: RedisGroup;
  beforeAll(async () => {
    cluster = await RedisGroup.cluster();
    const { REDIS_CLUSTER = '' } = cluster.environment;
    world = await FaultStack.open({
      environment: { REDIS_CLUSTER, QUEUE_REDIS_CLUSTER: REDIS_CLUSTER },
    });
  });
  afterAll(async () => {
    await world.stack.close();
    await cluster.dispose();
  });

  it.each([
    ['requests', serviceKeys('subscription').requests],
    ['the queue', '{bull}'],
  ])(
    'the master of %s killed: nothing is restarted, and deletions that were queued before end',
    async (_, key) => {
      await world.underTraffic('a master killed', () => cluster.killMasterOf(key), electionMs);
      world.expectAllAlive();
    },
  );
});
