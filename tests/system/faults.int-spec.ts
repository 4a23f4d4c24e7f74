import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultStack } from './testing/fault-stack.js';

/** A deletion that a fault interrupts is sent again after half a minute. */
const limitMs = 120_000;

let faults: FaultStack;

const full = Boolean(process.env.TEST_FULL);
const kinds = [
  { kept: 'empty', durableRedis: false },
  { kept: 'with all it had', durableRedis: true },
];

describe.each(full ? kinds : kinds.slice(0, 1))(
  'where Redis comes back $kept, a fault',
  { timeout: limitMs },
  ({ durableRedis }) => {
    beforeAll(async () => void (faults = await FaultStack.open({ durableRedis })));
    beforeEach(() => faults.complete());
    afterAll(() => faults.stack.close());

    it('SIGKILL of a replica of each service: errors by the deadline, no loss', async () => {
      await faults.underTraffic('SIGKILL', async (traffic) => {
        await Promise.all(faults.oneOfEach().map((replica) => replica.kill()));
        await traffic.continueFor(200);
      });
    });

    it('SIGTERM of a replica of each service: no request fails', async () => {
      const traffic = await faults.underTraffic('SIGTERM', async () => {
        await Promise.all(faults.oneOfEach().map((replica) => replica.stop()));
      });
      expect(traffic.failed).toEqual([]);
    });

    it('restart of Redis: requests fail immediately, and recover automatically', async () => {
      const { redis } = faults.stack;
      await faults.underTraffic('Redis killed', async () => {
        await redis.kill();
        await faults.expectAllRefused();
        await redis.start();
      });
      faults.expectAllAlive();
    });

    it('restart of Postgres: requests fail immediately, and recover automatically', async () => {
      const { postgresServer } = faults.stack;
      await faults.underTraffic('Postgres killed', async () => {
        await postgresServer.kill();
        await faults.expectAllRefused();
        await postgresServer.start();
      });
      faults.expectAllAlive();
    });

    it.each(full ? ['users'] : [])(
      'SIGKILL of one of two gateways: %s of the other do not notice',
      async () => {
        const [stays, goes] = faults.gateways;
        const [served, cut] = [await faults.traffic(4, [stays!]), await faults.traffic(4, [goes!])];
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
