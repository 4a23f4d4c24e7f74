import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { Load } from '../testing/load.js';
import { RedisGroup } from '../testing/redis.group.js';
import { Stage } from '../testing/stage.js';
import { serviceKeys } from './wire.js';

/** How long another server needs to be elected, and all to find it. */
const failoverMs = 15_000;

/** The server that carries the requests is killed under load; another one of its group takes its place. */
async function failover(group: RedisGroup): Promise<void> {
  await Stage.playOn(group, async (stage) => {
    const replicas = await Promise.all(['a', 'b'].map((name) => stage.replica(name)));
    const load = new Load(await stage.gateway(), { callers: 8, takesMs: 20 });
    await eventually(() => expect(load.answered).toBeGreaterThan(100));
    expect(load.failed).toEqual([]);
    await group.killMasterOf(serviceKeys('episode').requests);
    const before = load.outcomes.length;
    await eventually(() => expect(load.failed.length).toBeGreaterThan(0));
    const healed = load.answered + 100;
    await eventually(() => expect(load.answered).toBeGreaterThan(healed), { timeout: failoverMs });
    await load.goOn(1_000);
    const failed = load.failed.length;
    await load.goOn(1_000);
    await load.stop();
    expect(load.failed.slice(failed), 'calls that failed after it had healed').toEqual([]);
    expect(new Set(load.failed.map(({ end }) => end))).toEqual(new Set(['unavailable']));
    expect(Math.max(...load.outcomes.slice(before).map(({ tookMs }) => tookMs))).toBeLessThan(5_300);
    expect(replicas.map((replica) => replica.hasExited)).toEqual([false, false]);
    expect(
      new Set(
        stage
          .runs()
          .slice(-200)
          .map(({ replica }) => replica),
      ),
    ).toEqual(new Set(['a', 'b']));
  });
}

describe.runIf(process.env.TEST_FULL)('when a master is killed', { timeout: 60_000 }, () => {
  it('a Redis Cluster of 3 masters and 3 replicas heals without a restart of anything', async () =>
    failover(await RedisGroup.cluster()));

  it('a server behind Sentinels is followed to its replica', async () => failover(await RedisGroup.sentinels()));
});
