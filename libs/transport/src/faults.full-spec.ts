import { afterEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '#testing';
import { killOneOfThree, longBudgetMs, poison, stopOneOfTwo } from '../testing/fault-cases.js';
import { callOnce, RepeatedCalls } from '../testing/repeated-calls.js';
import { connectTo } from '../testing/probe-replica.js';
import { FailureFixture } from '../testing/failure.fixture.js';

/** Time limits for immediate failures and for recovery, far above the expected times. */
const atOnceMs = 1_500;
const healMs = 20_000;

// Most of the time is the start of a case's processes, on a machine that can have other work.
vi.setConfig({ testTimeout: 120_000 });

afterEach(() => void vi.useRealTimers());

describe('under load', () => {
  it('SIGKILL of a replica loses no answer, and only requests in flight run again', () =>
    killOneOfThree());

  it('SIGTERM of a replica fails no call and runs none twice', () => stopOneOfTwo());

  it('a restart of all replicas, one by one, fails no call and runs none twice', () =>
    FailureFixture.run(async (fixture) => {
      const replicas = await Promise.all(['a', 'b', 'c'].map((name) => fixture.startReplica(name)));
      const calls = new RepeatedCalls(await fixture.connectGateway(), { callers: 16, takesMs: 30 });
      for (const replica of replicas) {
        await replica.stop();
        await fixture.startReplica('again');
      }
      await calls.stop();
      expect(calls.failed).toEqual([]);
      expect(calls.answered).toBeGreaterThan(1_000);
      expect([...fixture.rerun()]).toEqual([]);
    }));
});

describe('a poisonous request', () => {
  it('is the only one to fail, and is kept with its reason', () => poison());
});

describe('without any replica', () => {
  it('calls end at their deadline at first, and fail immediately from 2 s on', () =>
    FailureFixture.run(async (fixture) => {
      const replica = await fixture.startReplica('a');
      const gateway = await fixture.connectGateway();
      const inFlight = [
        callOnce(gateway, 'x', { takesMs: 60_000 }),
        callOnce(gateway, 'y', { takesMs: 60_000, timeLimitMs: 2_500 }),
      ];
      await eventually(() => expect(fixture.runs()).toHaveLength(2));
      await replica.kill();
      await eventually(async () => {
        const { sentCalls } = gateway.counters;
        expect((await callOnce(gateway, 'z', { timeLimitMs: 500 })).end).toBe('unavailable');
        expect(gateway.counters.sentCalls, 'calls that were sent though nobody is there').toBe(
          sentCalls,
        );
      });
      const [x, y] = await Promise.all(inFlight);
      expect([x!.end, y!.end]).toEqual(['unavailable', 'unavailable']);
      expect(x!.tookMs).toBeLessThan(longBudgetMs);
      expect(y!.tookMs).toBeLessThan(longBudgetMs);
      await fixture.startReplica('b');
      await eventually(async () => expect((await callOnce(gateway, 'again')).end).toBe('answered'));
      expect(fixture.runs().map(({ text }) => text)).toEqual(['x', 'y', 'again']);
    }));
});

describe('Redis', () => {
  for (const durable of [false, true])
    it(`restarts ${durable ? 'with its data' : 'empty'}: calls fail fast, and recover`, () =>
      FailureFixture.run(
        async (fixture) => {
          const replicas = await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
          const calls = new RepeatedCalls(await fixture.connectGateway(), {
            callers: 8,
            takesMs: 20,
          });
          await eventually(() => expect(calls.answered).toBeGreaterThan(50));
          await fixture.redis.kill();
          const sinceKill = calls.outcomes.length;
          await calls.continueFor(1_000);
          expect(calls.failed.length).toBeGreaterThan(0);
          expect(
            Math.max(...calls.outcomes.slice(sinceKill).map(({ tookMs }) => tookMs)),
          ).toBeLessThan(atOnceMs);
          await fixture.redis.start();
          const answered = calls.answered;
          await eventually(() => expect(calls.answered).toBeGreaterThan(answered + 50), {
            timeout: healMs,
          });
          await calls.continueFor(1_000);
          const failed = calls.failed.length;
          await calls.continueFor(500);
          await calls.stop();
          expect(calls.failed.slice(failed), 'calls that failed after it had healed').toEqual([]);
          expect(new Set(calls.failed.map(({ end }) => end))).toEqual(new Set(['unavailable']));
          expect(replicas.map((replica) => replica.hasExited)).toEqual([false, false]);
        },
        { durable },
      ));

  it('is paused for 3 s: deadlines hold, no reply reaches a wrong caller, and calls recover', () =>
    FailureFixture.run(async (fixture) => {
      await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
      const calls = new RepeatedCalls(await fixture.connectGateway(), {
        callers: 8,
        takesMs: 20,
        timeLimitMs: 1_000,
      });
      await eventually(() => expect(calls.answered).toBeGreaterThan(50));
      fixture.redis.pause();
      await calls.continueFor(3_000);
      // They ended by their deadline, before Redis answered.
      expect(calls.failed.length).toBeGreaterThan(0);
      fixture.redis.resume();
      const answered = calls.answered;
      await eventually(() => expect(calls.answered).toBeGreaterThan(answered + 50), {
        timeout: healMs,
      });
      await calls.stop();
      expect(new Set(calls.failed.map(({ end }) => end))).toEqual(new Set(['unavailable']));
    }));

  it('is emptied while it runs: calls continue', () =>
    FailureFixture.run(async (fixture) => {
      await fixture.startReplica('a');
      const gateway = await fixture.connectGateway();
      const admin = connectTo({ REDIS_URL: fixture.redis.url });
      await eventually(() => admin.flushall());
      admin.disconnect();
      await eventually(async () => expect((await callOnce(gateway, 'x')).end).toBe('answered'));
    }));
});

describe('a replica that was paused for 5 s', () => {
  it('has no effect: other replicas answer meanwhile, and its late answers are dropped', () =>
    FailureFixture.run(async (fixture) => {
      const [frozen] = await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
      const gateway = await fixture.connectGateway();
      const calls = new RepeatedCalls(gateway, { callers: 8, takesMs: 50 });
      await eventually(() => expect(calls.answered).toBeGreaterThan(50));
      frozen!.pause();
      await calls.continueFor(5_000);
      frozen!.resume();
      await calls.continueFor(1_500);
      await calls.stop();
      expect(calls.failed).toEqual([]);
      expect(Math.max(...fixture.rerun().values(), 0)).toBeLessThanOrEqual(2);
      expect(
        fixture
          .runs()
          .slice(-200)
          .some(({ replica }) => replica === 'a'),
      ).toBe(true);
    }));
});

describe('two gateways', () => {
  it('receive their own replies only', () =>
    FailureFixture.run(async (fixture) => {
      await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
      const gateways = await Promise.all([fixture.connectGateway(), fixture.connectGateway()]);
      const all = gateways.map((gateway) => new RepeatedCalls(gateway, { callers: 8 }));
      await Promise.all(all.map((calls) => calls.continueFor(1_000)));
      await Promise.all(all.map((calls) => calls.stop()));
      for (const [index, calls] of all.entries()) {
        expect(calls.failed).toEqual([]);
        expect(gateways[index]!.counters).toMatchObject({
          lateReplies: 0,
          sentCalls: calls.answered,
          inFlight: 0,
        });
      }
    }));
});

describe('a wall clock that is wrong', () => {
  for (const minutes of [-10, 10]) {
    const skewMs = minutes * 60_000;
    it(`at a replica, by ${minutes} min, changes nothing`, () =>
      FailureFixture.run(async (fixture) => {
        await Promise.all([
          fixture.startReplica('right'),
          fixture.startReplica('wrong', { skewMs }),
        ]);
        const calls = new RepeatedCalls(await fixture.connectGateway(), { callers: 8, takesMs: 5 });
        await calls.continueFor(1_500);
        await calls.stop();
        expect(calls.failed).toEqual([]);
        expect(new Set(fixture.runs().map(({ replica }) => replica))).toEqual(
          new Set(['right', 'wrong']),
        );
        expect([...fixture.rerun()]).toEqual([]);
      }));

    it(`at a gateway, by ${minutes} min, changes nothing and trims no backlog`, () =>
      FailureFixture.run(async (fixture) => {
        await fixture.startReplica('a', { maxInFlight: 1 });
        // 400 sequential requests take a second, or many on a busy machine.
        const timeLimitMs = 30_000;
        const [right, wrong] = await Promise.all([
          fixture.connectGateway(),
          fixture.connectGateway(),
        ]);
        const backlog = Array.from({ length: 200 }, (_, n) =>
          callOnce(right, `r${n}`, { takesMs: 2, timeLimitMs }),
        );
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs });
        const late = Array.from({ length: 200 }, (_, n) =>
          callOnce(wrong, `w${n}`, { takesMs: 2, timeLimitMs }),
        );
        const outcomes = await Promise.all([...backlog, ...late]);
        expect(outcomes.filter(({ end }) => end !== 'answered')).toEqual([]);
        expect([...fixture.rerun()]).toEqual([]);
      }));
  }
});
