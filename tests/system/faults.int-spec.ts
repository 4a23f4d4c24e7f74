import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultStack } from './testing/fault.stack.js';

/** A deletion that a fault interrupts is sent again after half a minute. */
const limitMs = 120_000;

let world: FaultStack;

const full = Boolean(process.env.TEST_FULL);
const kinds = [
  { kept: 'empty', durableRedis: false },
  { kept: 'with all it had', durableRedis: true },
];

describe.each(full ? kinds : kinds.slice(0, 1))(
  'where Redis comes back $kept, a fault',
  { timeout: limitMs },
  ({ durableRedis }) => {
    beforeAll(async () => void (world = await FaultStack.open({ durableRedis })));
    beforeEach(() => world.complete());
    afterAll(() => world.stack.close());

    it('SIGKILL of a replica of each service: errors by the deadline, no loss', async () => {
      await world.underTraffic('SIGKILL', async (traffic) => {
        await Promise.all(world.oneOfEach().map((replica) => replica.kill()));
        await traffic.continueFor(200);
      });
    });

    it('SIGTERM of a replica of each service: no request fails', async () => {
      const traffic = await world.underTraffic('SIGTERM', async () => {
        await Promise.all(world.oneOfEach().map((replica) => replica.stop()));
      });
      expect(traffic.failed).toEqual([]);
    });

    it('restart of Redis: requests fail immediately, and recover automatically', async () => {
      const { redis } = world.stack;
      await world.underTraffic('Redis killed', async () => {
        await redis.kill();
        await world.expectAllRefused();
        await redis.start();
      });
      world.expectAllAlive();
    });

    it('restart of Postgres: requests fail immediately, and recover automatically', async () => {
      const { postgresServer } = world.stack;
      await world.underTraffic('Postgres killed', async () => {
        await postgresServer.kill();
        await world.expectAllRefused();
        await postgresServer.start();
      });
      world.expectAllAlive();
    });

    it.each(full ? ['users'] : [])(
      'SIGKILL of one of two gateways: %s of the other do not notice',
      async () => {
        const [stays, goes] = world.gateways;
        const [served, cut] = [await world.traffic(4, [stays!]), await world.traffic(4, [goes!])];
        await Promise.all([served.continueFor(), cut.continueFor()]);
        await goes!.kill();
        await served.continueFor(200);
        await served.stop();
        expect([...served.failed, ...served.unclean]).toEqual([]);
        expect(cut.unclean.every(({ what }) => !what.startsWith('foreign'))).toBe(true);
        await cut.abandon();
      },
    );
  },
);
