import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { tracesOf } from '../../apps/deletion-worker/testing/erased-user.js';
import { DeletionStack } from './testing/deletion-stack.js';
import { erase } from './testing/operator-programs.js';
import type { SimulatedUser } from './testing/simulated-user.js';

// docs/design/erasure.md. Kills after each step.
let stack: DeletionStack;
beforeAll(async () => {
  stack = await DeletionStack.open({}, true);
  await stack.owner.query(barriers);
}, 60_000);
afterAll(() => stack.close());

const key = (user: string) => `hashtext('erased ' || ${user})`;
/** Holds a step before its commit while a lock `erased <user> <n>` is held. */
const barriers = `
  CREATE TABLE public.steps (user_id uuid PRIMARY KEY, hold_at integer,
    n integer NOT NULL DEFAULT 0);
  GRANT ALL ON public.steps TO PUBLIC;
  CREATE FUNCTION public.hold_step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  DECLARE v_step public.steps;
  BEGIN
    UPDATE public.steps s SET n = s.n + 1 WHERE s.user_id = NEW.user_id RETURNING s.* INTO v_step;
    IF v_step.hold_at = v_step.n
      THEN PERFORM pg_advisory_xact_lock_shared(${key('NEW.user_id')}); END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER hold_step BEFORE UPDATE ON deletion.erasures FOR EACH ROW
    WHEN (NEW.removed <> OLD.removed OR NEW.status <> OLD.status)
    EXECUTE FUNCTION public.hold_step()`;

const status = async ({ id }: SimulatedUser) =>
  (
    await stack.owner.query<{ status: string }>(
      'SELECT status FROM deletion.erasures WHERE user_id = $1',
      [id],
    )
  ).rows[0]?.status;
const letResend = ({ id }: SimulatedUser) =>
  stack.owner.query(
    `UPDATE deletion.erasures
     SET sent_at = sent_at - interval '31 seconds'
     WHERE status = 'PENDING' AND user_id = $1`,
    [id],
  );
async function expectErased(user: SimulatedUser): Promise<void> {
  await eventually(
    async () => {
      await letResend(user);
      expect(await status(user)).toBe('SUCCESS');
    },
    { timeout: 90_000, interval: 500 },
  );
  const left = Object.keys(await tracesOf(stack.owner, [user.id]));
  expect(left.filter((name) => name !== 'steps')).toEqual(['deletion.erasures', 'sync.user_clock']);
}
const record = ({ id }: SimulatedUser) =>
  stack.owner.query(`SELECT deletion.record_erasure($1, '{}')`, [id]);

describe('an erased user', () => {
  it('is refused by every service from the record on, and all data is erased', async () => {
    const user = await stack.newUser();
    const guid = await user.subscribeWithEpisodes();
    const { device } = user;
    const pending = await user.delete(await user.subscribeWithEpisodes());
    await stack.queue.pause();
    await record(user);
    const requests = () =>
      Promise.all([
        device.send('GET', '/subscriptions'),
        device.send('GET', `/subscriptions/${guid}`),
        device.send('GET', '/episodes'),
        device.send('GET', `/deletions/${pending}`),
        device.send('POST', '/subscriptions', {
          body: { subscriptions: [{ feed_url: 'https://feeds.example/late' }] },
        }),
        device.send('POST', '/episodes', {
          body: { episodes: [{ podcast_guid: guid, episode_guid: 'late' }] },
        }),
        device.send('DELETE', `/subscriptions/${guid}`),
      ]);
    expect((await requests()).map((answer) => answer.status)).toEqual(Array(7).fill(401));
    await stack.queue.resume();
    await expectErased(user);
    expect((await requests()).map((answer) => answer.status)).toEqual(Array(7).fill(401));
    await expectErased(user);
  });

  it('by an operator reports its end', async () => {
    const [user, other] = [await stack.newUser(), await stack.newUser()];
    await user.subscribeWithEpisodes();
    const guid = await other.subscribeWithEpisodes();
    const { stdout } = await erase(stack.stack, '--user', user.id);
    expect(stdout).toBe('1 of 1 users erased.\n');
    await expectErased(user);
    expect(await other.sees(guid)).toMatchObject({ subscription: 200 });
  });
});

/** Steps of an erasure: the account, each table with rows, and the end of the record. */
const steps = Array.from({ length: 8 }, (_, n) => n + 1);

describe('a worker that is killed in the midst of an erasure', () => {
  it.each(steps)(
    'before step %i is committed leaves the rest to another one, and no reader sees anything',
    async (n) => {
      const user = await stack.newUser();
      await user.subscribeWithEpisodes();
      const holder = await stack.owner.connect();
      await stack.owner.query('INSERT INTO public.steps (user_id, hold_at) VALUES ($1, $2)', [
        user.id,
        n,
      ]);
      await holder.query(`SELECT pg_advisory_lock(${key('$1::uuid')})`, [user.id]);
      await record(user);
      const isHeld = async () => {
        const { rows } = await stack.owner.query(
          `SELECT FROM pg_stat_activity
           WHERE wait_event = 'advisory' AND usename = 'podcast_sync_deletion'`,
        );
        assert.equal(rows.length, 1);
      };
      await eventually(isHeld, { timeout: 30_000 });
      await stack.running.worker.kill();
      await stack.owner.query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE wait_event = 'advisory' AND usename = 'podcast_sync_deletion'`,
      );
      await holder.query('SELECT pg_advisory_unlock_all()');
      holder.release();
      await stack.restart('worker');
      expect((await user.device.send('GET', '/episodes')).status).toBe(401);
      await expectErased(user);
    },
    120_000,
  );
});
