import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { longBudgetMs } from '../testing/fault-cases.js';
import { RepeatedCalls } from '../testing/repeated-calls.js';
import { RedisGroup } from '../testing/redis-group.js';
import { FailureFixture } from '../testing/failure.fixture.js';
import { serviceKeys } from './wire/format.js';

/** Time limit for the election of another server, and for all clients to find it. */
const failoverMs = 15_000;

/** Kills the server of the requests under load; another one of its group takes over. */
async function failover(group: RedisGroup): Promise<void> {
  await FailureFixture.runOn(group, async (fixture) => {
    const replicas = await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
    const calls = new RepeatedCalls(await fixture.connectGateway(), { callers: 8, takesMs: 20 });
    await eventually(() => expect(calls.answered).toBeGreaterThan(100));
    expect(calls.failed).toEqual([]);
    await group.killMasterOf(serviceKeys('episode').requests);
    // Requests from here on are only answered after another server has taken over.
    const killed = performance.now();
    const answeredSince = () =>
      calls.outcomes.filter(({ started, end }) => started > killed && end === 'answered');
    await eventually(() => expect(answeredSince().length).toBeGreaterThan(100), {
      timeout: failoverMs,
    });
    await calls.continueFor(1_000);
    const healed = performance.now();
    await calls.continueFor(1_000);
    const latest = () =>
      new Set(
        fixture
          .runs()
          .slice(-200)
          .map(({ replica }) => replica),
      );
    await eventually(() => expect(latest()).toEqual(new Set(['a', 'b'])), { timeout: failoverMs });
    await calls.stop();
    // A request that only the dead server had ends by its deadline, which can be later than that.
    const failedSince = calls.failed.filter(({ started }) => started > healed);
    expect(failedSince, 'calls that began after it had healed, and failed').toEqual([]);
    expect(calls.failed.filter(({ end }) => end !== 'unavailable')).toEqual([]);
    expect(Math.max(...calls.outcomes.map(({ tookMs }) => tookMs))).toBeLessThan(longBudgetMs);
    expect(replicas.map((replica) => replica.hasExited)).toEqual([false, false]);
  });
}

describe('when a master is killed', { timeout: 60_000 }, () => {
  it('calls recover on a Cluster of 3 masters and 3 replicas, without any restart', async () =>
    failover(await RedisGroup.cluster()));

  it('calls recover on the replica that the Sentinels promote', async () =>
    failover(await RedisGroup.sentinels()));
});
