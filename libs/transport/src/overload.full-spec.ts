import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { heapAfterGc } from '../testing/heap.js';
import { callOnce } from '../testing/repeated-calls.js';
import { connectTo } from '../testing/probe-replica.js';
import { FailureFixture } from '../testing/failure.fixture.js';
import type { StreamClient } from './index.js';
import { consumerGroup, serviceKeys } from './wire/format.js';

/** Capacity of the only replica: 4 concurrent requests of 20 ms each. */
const maxInFlight = 4;
const takesMs = 20;
const perSecond = (maxInFlight * 1_000) / takesMs;

/** Duration of the load before the first measurement of the heaps, and until the second one. */
const settleMs = 6_000;
const watchMs = 12_000;

/** More callers than the limit of calls in flight; each repeats its call after every outcome. */
class Flood {
  answered = 0;
  refused = 0;
  private stopped = false;
  private readonly callers: Promise<void>[];

  constructor(private readonly gateway: StreamClient) {
    this.callers = Array.from({ length: 1_200 }, (_, caller) =>
      this.callUntilStopped(`caller${caller}`),
    );
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  private async callUntilStopped(text: string): Promise<void> {
    while (!this.stopped) {
      const { end } = await callOnce(this.gateway, text, { takesMs, timeLimitMs: 2_000 });
      if (end === 'answered') this.answered += 1;
      else this.refused += 1;
      if (end !== 'answered') await delay(200);
    }
  }
}

describe('far more calls than a service can take', { timeout: 90_000 }, () => {
  it('do not grow memory or stop the replica, and leave no requests', () =>
    FailureFixture.run(async (fixture) => {
      const replica = await fixture.startReplica('a', { maxInFlight });
      const gateway = await fixture.connectGateway({ maxInFlight: 1_000 });
      const flood = new Flood(gateway);
      await delay(settleMs);
      const before = { gateway: heapAfterGc(), replica: (await replica.inspect()).heap };
      const { answered } = flood;
      await delay(watchMs);
      const share = (flood.answered - answered) / ((perSecond * watchMs) / 1_000);
      const grown = {
        gateway: (heapAfterGc() - before.gateway) / 2 ** 20,
        replica: ((await replica.inspect()).heap - before.replica) / 2 ** 20,
      };
      await flood.stop();
      console.log(
        `heaps grew by ${grown.gateway.toFixed(1)} MiB (gateway) and ` +
          `${grown.replica.toFixed(1)} MiB (replica) in ${watchMs} ms; ` +
          `${flood.answered} calls were answered, ${flood.refused} refused; ` +
          `${Math.round(share * 100)} % of the replica's throughput`,
      );
      expect(grown.gateway).toBeLessThan(5);
      expect(grown.replica).toBeLessThan(5);
      // Lower than the capacity on a busy machine; 0 for a replica that only answers too late.
      expect(share).toBeGreaterThan(0.1);
      await expectNothingLeft(fixture, gateway);
      expect(await replica.inspect()).toMatchObject({ inFlight: 0 });
    }));
});

async function expectNothingLeft(fixture: FailureFixture, gateway: StreamClient): Promise<void> {
  expect(gateway.counters.inFlight).toBe(0);
  const admin = connectTo({ REDIS_URL: fixture.redis.url });
  const { requests, deadLetters: dead } = serviceKeys('episode');
  await eventually(async () => {
    const pending = (await admin.xpending(requests, consumerGroup))[0];
    expect([await admin.xlen(requests), pending, await admin.xlen(dead)]).toEqual([0, 0, 0]);
  });
  admin.disconnect();
}
