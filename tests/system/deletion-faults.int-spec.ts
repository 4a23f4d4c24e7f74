import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { DeletionStack } from './testing/deletion-stack.js';
import type { SimulatedUser } from './testing/simulated-user.js';
import { Witness } from './testing/witness.js';

let stack: DeletionStack;
beforeAll(async () => {
  // Above the number of calls in flight of any test.
  stack = await DeletionStack.open({ DELETION_CONCURRENCY: '8' }, true);
});
afterAll(async () => {
  await stack.close();
});

const record = async (id: number) =>
  (
    await stack.owner.query(
      'SELECT status, job_number, attempts, cause FROM deletion.deletions WHERE id = $1',
      [id],
    )
  ).rows[0] as { status: string; job_number: number; attempts: number; cause: string | null };
/** Expected rows after a successful deletion: none. */
async function expectGone(user: SimulatedUser, guid: string): Promise<void> {
  expect(await user.sees(guid)).toEqual({ subscription: 410, episodes: [] });
}

/** One deletion that is held, and read by others. */
async function held(moment: 'claimed' | 'midway' | 'finished') {
  const user = await stack.newUser();
  const guid = await user.subscribeWithEpisodes();
  const witness = new Witness(user, stack.owner, 3);
  const barrier = await stack.hold(moment, user.id);
  const deletionId = await user.delete(guid);
  await barrier.reached();
  return { moment, user, guid, witness, barrier, deletionId };
}

// The queue notices after half a minute. With small counts, deletion-model.int-spec.ts covers it.
describe.each(process.env.TEST_FULL ? ['killed'] : [])('a worker that is %s', () => {
  it('leaves deletions that end once, in SUCCESS, and are visible as a whole', async () => {
    const [claimed, midway, finished, orphaned, acknowledged] = await Promise.all(
      (['claimed', 'midway', 'finished', 'midway', 'finished'] as const).map(held),
    );
    const all = [claimed!, midway!, finished!, orphaned!, acknowledged!];
    // After the commit and before the queue is notified of it.
    stack.stack.queueRedis.pause();
    await acknowledged!.barrier.open();
    await eventually(async () =>
      expect(await record(acknowledged!.deletionId)).toMatchObject({ status: 'SUCCESS' }),
    );
    await stack.running.worker.kill();
    const killedAt = performance.now();
    stack.stack.queueRedis.resume();
    // Postgres notices the death and rolls back ...
    for (const { barrier } of [claimed!, midway!, finished!]) await barrier.cut();
    for (const { deletionId } of [claimed!, midway!, finished!, orphaned!])
      expect(await record(deletionId)).toMatchObject({ status: 'PENDING' });
    // ... or has read all of it before, and commits without a waiting caller.
    await orphaned!.barrier.open();
    await stack.restart('worker');

    await Promise.all(all.map(({ user, deletionId }) => user.ends(deletionId, 'SUCCESS', 60_000)));
    console.log(`ended ${Math.round(performance.now() - killedAt)} ms after the worker was killed`);
    for (const { user, guid, deletionId, witness } of all) {
      await expectGone(user, guid);
      await witness.stop();
      expect(witness.reads).toBeGreaterThan(10);
      expect(await record(deletionId)).toMatchObject({ attempts: 0 });
    }
  }, 90_000);
});

describe('Redis', () => {
  describe('that carries everything', () => {
    // The relay must not reach the queue either while the test looks for the record.
    const restartWorker = async (environment = {}) => {
      await stack.running.worker.stop();
      await stack.restart('worker', environment);
    };
    beforeAll(() => restartWorker({ QUEUE_REDIS_URL: stack.stack.redis.url }));
    afterAll(() => restartWorker());

    it('and dies between commit and reply: a repeated DELETE has the same deletion', async () => {
      const user = await stack.newUser();
      const guid = await user.subscribeWithEpisodes();
      const key = randomUUID();
      const barrier = await stack.hold('requested', user.id);
      const lost = user.device.send('DELETE', `/subscriptions/${guid}`, { key });
      await barrier.reached();
      await stack.stack.redis.kill();
      expect(await lost).toMatchObject({ status: 503 });
      await barrier.open();
      const made = await eventually(async () => {
        const { rows } = await stack.owner.query<{ id: number }>(
          'SELECT id::float8 AS id FROM deletion.deletions WHERE user_id = $1',
          [user.id],
        );
        expect(rows).toHaveLength(1);
        return rows[0]?.id;
      });
      // No relay takes the record before the repetition: its cascade could hold the clock or end.
      const relays = await stack.owner.connect();
      await relays.query('BEGIN; LOCK TABLE deletion.deletions IN SHARE MODE');
      await stack.stack.redis.start();
      expect(await eventually(() => user.delete(guid, key))).toBe(made);
      await relays.query('COMMIT');
      relays.release();
      await user.ends(Number(made), 'SUCCESS');
      expect(await user.delete(guid, key)).toBe(made);
    });
  });
});

describe('Postgres', () => {
  it('that dies in a cascade and stays down: no retry is used, SUCCESS afterwards', async () => {
    const { user, guid, witness, deletionId } = await held('midway');
    expect(await user.sees(guid)).toEqual({
      subscription: 200,
      episodes: ['first', 'second', 'midway'],
    });
    const { body } = await user.device.send('GET', `/deletions/${deletionId}`);
    expect(body).toEqual({
      deletion_id: deletionId,
      status: 'PENDING',
      message: 'Deletion is pending',
    });
    // Killed: a stop would end the barrier's connection first, and continue the deletion.
    await stack.stack.postgresServer.kill();
    // Each retry is due immediately, and none happens.
    const job = `deletion-${deletionId}-1`;
    await eventually(
      async () => {
        await stack.queue.promoteJobs();
        for (let n = 0; n < 20; n += 1) expect(await stack.queue.getJobState(job)).toBe('waiting');
      },
      { timeout: 30_000 },
    );
    await stack.stack.postgresServer.start();
    await user.ends(deletionId, 'SUCCESS');
    expect(await record(deletionId)).toMatchObject({ job_number: 1, attempts: 0 });
    await eventually(() => expectGone(user, guid));
    await witness.stop();
  }, 90_000);
});

it('after all of it nothing is left over', async () => {
  expect(await stack.orphans()).toEqual({ episodes: 0, states: 0, syncIds: 0, miscounted: 0 });
});
