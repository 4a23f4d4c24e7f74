import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, eventually, type DeviceAnswer } from '#testing';
import { DeletionStack } from './testing/deletion.stack.js';
import { episode, type SimulatedUser } from './testing/simulated.user.js';

const rounds = process.env.TEST_FULL ? 200 : 20;
/** Rounds that are under way at the same time. */
const abreast = 6;
const deletions = process.env.TEST_FULL ? 500 : 60;

let stack: DeletionStack;
beforeAll(async () => {
  stack = await DeletionStack.open();
});
afterAll(async () => {
  await stack.close();
});

type Status = 'SUCCESS' | 'FAILURE';

/** Result of one round: the deletion's end, the answer to the other request, the user's data. */
interface Outcome {
  ended: Status;
  answer: DeviceAnswer;
  subscription: number;
  episodes: string[];
}

/**
 * Sends a user's DELETE and another request of the user: concurrently, or after the DELETE while
 * the cascade is about to run.
 */
async function race(
  round: number,
  send: (user: SimulatedUser, guid: string, feed: string) => Promise<DeviceAnswer>,
) {
  const user = await stack.newUser();
  const feed = `https://feeds.example/${randomUUID()}`;
  const guid = await user.subscribeWithEpisodes(feed);
  const asked = user.device.send('DELETE', `/subscriptions/${guid}`);
  if (round % 2 === 0) await asked;
  const [deletion, answer] = await Promise.all([asked, send(user, guid, feed)]);
  expect(deletion.status).toBe(202);
  const id = Number(deletion.body['deletion_id']);
  const ended = await eventually(
    async () => {
      const status = await user.statusOf(id);
      if (status !== 'SUCCESS' && status !== 'FAILURE')
        throw new Error(`deletion ${id} is ${String(status)}`);
      return status;
    },
    { timeout: 20_000 },
  );
  return { ended, answer, ...(await user.sees(guid)) } satisfies Outcome;
}

/** Runs all rounds and counts each serial order. @throws Error for a round that matches none. */
async function runs(
  send: Parameters<typeof race>[1],
  orders: Readonly<Record<string, (outcome: Outcome) => boolean>>,
): Promise<Record<string, number>> {
  const seen: Record<string, number> = Object.fromEntries(
    Object.keys(orders).map((name) => [name, 0]),
  );
  let round = 0;
  const walk = async () => {
    while (round < rounds) {
      const outcome = await race((round += 1), send);
      const order = Object.entries(orders).find(([, isSo]) => isSo(outcome))?.[0];
      if (order === undefined) throw new Error(`no serial order: ${JSON.stringify(outcome)}`);
      seen[order] = (seen[order] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: abreast }, walk));
  console.log(`${rounds} rounds:`, seen);
  expect(await stack.orphans()).toEqual({ episodes: 0, states: 0, syncIds: 0, miscounted: 0 });
  return seen;
}

const all = ['first', 'second', 'midway'];
const isGone = ({ ended, subscription, episodes }: Outcome) =>
  ended === 'SUCCESS' && subscription === 410 && episodes.length === 0;

describe(`${rounds} rounds end in a serial order if a deletion races with`, () => {
  it('POST of the same feed', async () => {
    const seen = await runs(
      (user, _, feed) =>
        user.device.send('POST', '/subscriptions', {
          body: { subscriptions: [{ feed_url: feed }] },
        }),
      {
        'POST, DELETE, cascade': isGone,
        'DELETE, POST, cascade': ({ ended, subscription, episodes }) =>
          ended === 'FAILURE' && subscription === 200 && String(episodes) === String(all),
        'DELETE, cascade, POST': ({ ended, subscription, episodes }) =>
          ended === 'SUCCESS' && subscription === 200 && episodes.length === 0,
      },
    );
    // A POST after the answer to DELETE always follows it.
    expect(Number(seen['POST, DELETE, cascade'])).toBeLessThanOrEqual(rounds / 2);
  }, 120_000);

  it('PATCH', async () => {
    const renamed = () => ({ is_subscribed: false, new_guid: randomUUID() });
    await runs(
      (user, guid) => user.device.send('PATCH', `/subscriptions/${guid}`, { body: renamed() }),
      {
        'PATCH before the cascade': (outcome) => outcome.answer.status === 200 && isGone(outcome),
        'PATCH after the cascade': (outcome) => outcome.answer.status === 404 && isGone(outcome),
      },
    );
  }, 120_000);

  it('an upload of episodes', async () => {
    const accepted = ({ answer }: Outcome) => (answer.body['success'] as unknown[]).length;
    await runs(
      (user, guid) =>
        user.device.send('POST', '/episodes', {
          body: { episodes: [episode(guid, 'fourth'), episode(guid, 'first', 7, 5)] },
        }),
      {
        'upload before the cascade': (outcome) => accepted(outcome) === 2 && isGone(outcome),
        'upload after the cascade': (outcome) => accepted(outcome) === 0 && isGone(outcome),
      },
    );
  }, 120_000);
});

describe('two workers', () => {
  /** Inserts simultaneous deletions of that many users. */
  async function ask(count: number): Promise<string[]> {
    const { rows } = await stack.owner.query<{ user: string }>(
      `WITH asked AS (SELECT gen_random_uuid() AS user_id,
         date_trunc('milliseconds', clock_timestamp()) AS stamp FROM generate_series(1, $1)),
       clocks AS (INSERT INTO sync.user_clock SELECT user_id, stamp FROM asked),
       made AS (
         INSERT INTO subscription.subscriptions
           (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed,
           deletion_id)
         SELECT user_id, 'https://podcast.example/feed', gen_random_uuid(), true,
           stamp, stamp, stamp,
           deletion.new_id() FROM asked
         RETURNING user_id, id, changed, deletion_id
       )
       INSERT INTO deletion.deletions (user_id, id, subscription_id, requested)
       SELECT user_id, deletion_id, id, changed FROM made
       RETURNING user_id AS user`,
      [count],
    );
    return rows.map(({ user }) => user);
  }

  /** Waits until each has ended once: a second cascade would advance the user's clock. */
  async function end(users: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        const { rows } = await stack.owner.query(
          `SELECT count(*)::int AS ended FROM deletion.deletions d
           JOIN subscription.subscriptions s ON s.user_id = d.user_id
           JOIN sync.user_clock c ON c.user_id = d.user_id AND c.stamp = s.deleted
           WHERE d.user_id = ANY ($1) AND d.status = 'SUCCESS' AND d.attempts = 0 AND d.send = 1`,
          [users],
        );
        expect(rows).toEqual([{ ended: users.length }]);
      },
      { timeout: 60_000, interval: 20 },
    );
  }

  it(`end each of ${deletions} deletions once, and both have a part`, async () => {
    // A slow commit, as on a busy disk, so that the second worker gets work.
    await stack.owner.query(`
      CREATE FUNCTION public.slow() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.04); RETURN NEW; END $$;
      CREATE CONSTRAINT TRIGGER slow
        AFTER UPDATE ON deletion.deletions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.status = 'SUCCESS') EXECUTE FUNCTION public.slow()`);
    const oneAtATime = { DELETION_CONCURRENCY: '1', OPS_PORT: '0' };
    await stack.running.worker.stop();
    await stack.restart('worker', oneAtATime);
    const [second] = await stack.stack.start(['deletion-worker'], oneAtATime);
    await end(await ask(deletions));
    const done = await Promise.all([stack.running.worker, second!].map(ended));
    console.log(`the workers ended ${done.join(' and ')}`);
    expect(done[0]! + done[1]!).toBe(deletions);
    expect(Math.min(...done)).toBeGreaterThan(0);
  }, 180_000);

  /** Returns the number of a worker's deletions that ended in SUCCESS, from its metrics. */
  async function ended({ facts }: AppProcess): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/metrics`)).text();
    return Number(/^podcast_sync_deletions_total\{outcome="success"\} (\d+)$/m.exec(text)?.[1]);
  }
});
