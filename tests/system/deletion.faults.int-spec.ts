import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { DeletionStack } from './testing/deletion.stack.js';
import { episode, type SimulatedUser } from './testing/simulated.user.js';
import { emptyRedis } from './testing/sync.faults.js';
import { Witness } from './testing/witness.js';

/** Deletions that one fault meets. */
const many = process.env.TEST_FULL ? 200 : 40;

let stack: DeletionStack;
beforeAll(async () => {
  // Room for everything that one test holds at once.
  stack = await DeletionStack.open({ DELETION_CONCURRENCY: '8' }, true);
});
afterAll(async () => {
  await stack.close();
});

const record = async (id: number) =>
  (await stack.owner.query('SELECT status, send, attempts, cause FROM deletion.deletions WHERE id = $1', [id]))
    .rows[0] as { status: string; send: number; attempts: number; cause: string | null };
const isSent = (id: number) => eventually(async () => expect(await record(id)).toMatchObject({ send: 1 }));
const restartWorker = async (how: 'kill' | 'stop') => {
  await stack.running.worker[how]();
  await stack.restart('worker');
};
/** What of a deletion that succeeded is left: nothing. */
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

// The queue takes half a minute to notice; with small counts, deletion.model.int-spec.ts kills workers.
describe.each(process.env.TEST_FULL ? ['killed'] : [])('a worker that is %s', () => {
  it('leaves deletions that end once, in SUCCESS, and of which everybody sees all or nothing at every moment', async () => {
    const [claimed, midway, finished, orphaned, acknowledged] = await Promise.all(
      (['claimed', 'midway', 'finished', 'midway', 'finished'] as const).map(held),
    );
    const all = [claimed!, midway!, finished!, orphaned!, acknowledged!];
    // After the commit and before the queue is notified of it.
    stack.stack.queueRedis.pause();
    await acknowledged!.barrier.open();
    await eventually(async () => expect(await record(acknowledged!.deletionId)).toMatchObject({ status: 'SUCCESS' }));
    await stack.running.worker.kill();
    const killedAt = performance.now();
    stack.stack.queueRedis.resume();
    // Postgres notices the death and rolls back ...
    for (const { barrier } of [claimed!, midway!, finished!]) await barrier.cut();
    for (const { deletionId } of [claimed!, midway!, finished!, orphaned!])
      expect(await record(deletionId)).toMatchObject({ status: 'PENDING' });
    // ... or has read all of it before, and commits what nobody waits for.
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
  it('that is away for the queue alone: DELETE is answered, and the deletion ends when it is back', async () => {
    const user = await stack.newUser();
    const guid = await user.subscribeWithEpisodes();
    await stack.stack.queueRedis.kill();
    const deletionId = await user.delete(guid);
    expect(await user.statusOf(deletionId)).toBe('PENDING');
    expect(await user.delete(guid)).toBe(deletionId);
    expect(await user.sees(guid)).toMatchObject({ subscription: 200 });
    await stack.stack.queueRedis.start();
    await user.ends(deletionId, 'SUCCESS');
    await expectGone(user, guid);
  });

  describe('that carries everything', () => {
    beforeAll(async () => {
      await stack.running.worker.stop();
      await stack.restart('worker', { QUEUE_REDIS_URL: stack.stack.redis.url });
    });
    afterAll(() => restartWorker('stop'));

    it('and is away: DELETE is answered with 503 at once', async () => {
      const user = await stack.newUser();
      const guid = await user.subscribeWithEpisodes();
      await stack.stack.redis.kill();
      const answer = await user.device.send('DELETE', `/subscriptions/${guid}`);
      expect(answer).toMatchObject({ status: 503, body: { code: '503' } });
      // Far below the deadline of 5 s.
      expect(answer.tookMs).toBeLessThan(3_000);
      await stack.stack.redis.start();
      const deletionId = await eventually(() => user.delete(guid));
      await user.ends(deletionId, 'SUCCESS');
    });

    it('and dies between commit and reply: DELETE again is answered with the same deletion', async () => {
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
          'SELECT id::int FROM deletion.deletions WHERE user_id = $1',
          [user.id],
        );
        expect(rows).toHaveLength(1);
        return rows[0]?.id;
      });
      // Until DELETE came again no relay takes the record: its cascade would hold the user's clock, or be over.
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

  it(`that is emptied: ${many} deletions that are PENDING end`, async () => {
    const { queue } = stack;
    const user = await stack.newUser();
    const guids = await subscribeToMany(user);
    await queue.pause();
    const deletionIds = await user.deleteAll(guids);
    expect(new Set(deletionIds).size).toBe(many);
    await eventually(async () => expect((await queue.getJobCounts('waiting'))['waiting']).toBe(many));
    await emptyRedis(stack.stack.queueRedis.url);
    await stack.letResend(user.id);
    for (const deletionId of deletionIds) await user.ends(deletionId, 'SUCCESS');
  }, 60_000);
});

async function subscribeToMany(user: SimulatedUser): Promise<string[]> {
  const feeds = Array.from({ length: many }, () => ({ feed_url: `https://feeds.example/${randomUUID()}` }));
  const { body } = await user.device.send('POST', '/subscriptions', { body: { subscriptions: feeds } });
  return (body['success'] as { guid: string }[]).map(({ guid }) => guid);
}

describe('the queue', () => {
  it('delivers every job twice: each has one effect', async () => {
    const { queue } = stack;
    const user = await stack.newUser();
    const guids = await subscribeToMany(user);
    await queue.pause();
    const deletionIds = await user.deleteAll(guids);
    for (const deletionId of deletionIds) await isSent(deletionId);
    const twins = deletionIds.map((deletionId) => ({ userId: user.id, deletionId }));
    await queue.addBulk(twins.map((data) => ({ name: 'deletion', data, opts: { jobId: `twin-${data.deletionId}` } })));
    await queue.resume();
    for (const deletionId of deletionIds) await user.ends(deletionId, 'SUCCESS');
    await eventually(async () => {
      const states = await Promise.all(deletionIds.map((id) => queue.getJobState(`twin-${id}`)));
      expect(new Set(states)).toEqual(new Set(['completed']));
    });
    // As many stamps as cascades, the last of them the clock: no second run has written anything.
    const { rows } = await stack.owner.query(
      `SELECT count(DISTINCT s.deleted)::int AS stamps, max(s.deleted) = (SELECT stamp FROM sync.user_clock WHERE user_id = $1) AS last
       FROM subscription.subscriptions s WHERE s.user_id = $1`,
      [user.id],
    );
    expect(rows).toEqual([{ stamps: many, last: true }]);
  });

  it('delivers a job again after the feed was added again: what was added stays', async () => {
    const user = await stack.newUser();
    const feed = `https://feeds.example/${randomUUID()}`;
    const guid = await user.subscribeWithEpisodes(feed);
    const deletionId = await user.delete(guid);
    await user.ends(deletionId, 'SUCCESS');
    await user.subscribeWithEpisodes(feed);
    const data = { userId: user.id, deletionId };
    const late = await stack.queue.add('deletion', data, { jobId: `late-${deletionId}` });
    await eventually(async () => expect(await late.getState()).toBe('completed'));
    expect(await user.sees(guid)).toEqual({ subscription: 200, episodes: ['first', 'second', 'midway'] });
    expect(await user.statusOf(deletionId)).toBe('SUCCESS');
  });
});

describe('Postgres', () => {
  it('that is restarted in the midst of a cascade: it is tried again and ends', async () => {
    const { user, guid, witness, deletionId } = await held('midway');
    await stack.stack.postgresServer.kill();
    await stack.stack.postgresServer.start();
    await user.ends(deletionId, 'SUCCESS');
    expect(await record(deletionId)).toMatchObject({ attempts: 0 });
    await eventually(() => expectGone(user, guid));
    await witness.stop();
  });

  it('that is away for long: no job is taken and no retry used up meanwhile, SUCCESS afterwards', async () => {
    const { user, guid, deletionId } = await held('claimed');
    // Killed and not stopped: a stopped one would end the connection of the barrier first, and let the deletion go on.
    await stack.stack.postgresServer.kill();
    // Each retry may come at once, and none does.
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
    expect(await record(deletionId)).toMatchObject({ send: 1, attempts: 0 });
    await eventually(() => expectGone(user, guid));
  }, 90_000);
});

describe('POST of the feed while the deletion is PENDING', () => {
  it('wins, with the worker stopped before and started after it: FAILURE, and nothing is deleted', async () => {
    const user = await stack.newUser();
    const feed = `https://feeds.example/${randomUUID()}`;
    const guid = await user.subscribeWithEpisodes(feed);
    await stack.queue.pause();
    const deletionId = await user.delete(guid);
    await stack.running.worker.stop();
    const before = await stack.everything(user.id);
    expect(await user.subscribe(feed)).toBe(guid);
    await stack.restart('worker');
    await stack.queue.resume();
    await user.ends(deletionId, 'FAILURE');
    expect(await user.sees(guid)).toEqual({ subscription: 200, episodes: ['first', 'second', 'midway'] });
    const { episodes, syncIds } = before;
    expect(await stack.everything(user.id)).toMatchObject({ episodes, syncIds });
  });
});

describe('while a deletion is PENDING', () => {
  let user: SimulatedUser;
  let guid: string;
  let deletionId: number;
  beforeEach(async () => {
    user = await stack.newUser();
    guid = await user.subscribeWithEpisodes();
    await stack.queue.pause();
    deletionId = await user.delete(guid);
  });
  afterEach(() => stack.queue.resume());

  it('GET of it says so, DELETE is 202 with the same deletion_id, and the subscription reads as live', async () => {
    const path = `/subscriptions/${guid}`;
    const message = 'Deletion request was received and will be processed';
    const again = await user.device.send('DELETE', path);
    expect([again.status, again.body]).toEqual([202, { deletion_id: deletionId, message }]);
    expect((await user.device.send('GET', path)).body).toMatchObject({ guid, is_subscribed: true });
    expect(await user.sees(guid)).toEqual({ subscription: 200, episodes: ['first', 'second', 'midway'] });
    const { body } = await user.device.send('GET', `/deletions/${deletionId}`);
    expect(body).toEqual({ deletion_id: deletionId, status: 'PENDING', message: 'Deletion is pending' });
  });

  it('PATCH and uploads are accepted, and deleted with it', async () => {
    const newGuid = randomUUID();
    const patch = await user.device.send('PATCH', `/subscriptions/${guid}`, { body: { new_guid: newGuid } });
    const body = { episodes: [episode(guid, 'fourth')] };
    const upload = await user.device.send('POST', '/episodes', { body });
    expect([patch.status, upload.status, upload.body['failure']]).toEqual([200, 200, []]);
    expect(await user.sees(newGuid)).toMatchObject({ subscription: 200, episodes: { length: 4 } });
    await stack.queue.resume();
    await user.ends(deletionId, 'SUCCESS');
    for (const name of [guid, newGuid]) await expectGone(user, name);
  });
});

describe('a cascade that can not succeed', () => {
  it('ends in FAILURE with everything as before, byte for byte; asked again after the fault, in SUCCESS', async () => {
    const user = await stack.newUser();
    const guid = await user.subscribeWithEpisodes();
    const before = await stack.everything(user.id);
    await stack.owner.query(`
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'never'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON episode.episodes
        FOR EACH ROW WHEN (OLD.user_id = '${user.id}' AND OLD.title = 'midway') EXECUTE FUNCTION public.refuse()`);
    const failed = await user.delete(guid);
    await user.ends(failed, 'FAILURE');
    expect(await record(failed)).toMatchObject({ cause: 'never' });
    // But for the time of the DELETE, which stands.
    const time = { is_subscribed_at: expect.any(String) as string };
    const subscriptions = before.subscriptions.map((row) => ({ ...row, ...time }));
    expect(await stack.everything(user.id)).toEqual({ ...before, subscriptions });
    expect(await user.sees(guid)).toEqual({ subscription: 200, episodes: ['first', 'second', 'midway'] });
    const { body } = await user.device.send('GET', `/deletions/${failed}`);
    const message = 'The deletion process encountered an error and was rolled back';
    expect(body).toEqual({ deletion_id: failed, status: 'FAILURE', message });

    await stack.owner.query('DROP FUNCTION public.refuse() CASCADE');
    const deletionId = await user.delete(guid);
    expect(deletionId).not.toBe(failed);
    await user.ends(deletionId, 'SUCCESS');
    await expectGone(user, guid);
    expect(await user.statusOf(failed)).toBe('FAILURE');
  });
});

it('after all of it nothing is left over', async () => {
  expect(await stack.orphans()).toEqual({ episodes: 0, states: 0, syncIds: 0, miscounted: 0 });
});
