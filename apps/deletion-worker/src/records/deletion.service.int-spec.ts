import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { call } from '../../../../libs/transport/testing/handler-call.js';
import { StoredUser } from '../../testing/stored-user.js';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';
import { endStatement } from './deletion.repository.js';

let context: WorkerContext;
let user: StoredUser;
let guid: string;
let subscriptionId: number;

beforeAll(async () => {
  context = await openWorker();
});
afterAll(() => context.close());
beforeEach(async () => {
  ({ user, guid, subscriptionId } = await StoredUser.subscriber(context.owner));
});

const request = (of = guid, requestId?: string) => context.request(user.id, of, requestId);
const run = (deletionId: number) => context.service.process({ userId: user.id, deletionId });

async function status(deletionId: number, userId = user.id): Promise<string> {
  return (await context.service.read({ userId, deletionId })).status;
}

describe('DELETE', () => {
  it('creates a PENDING record and keeps the subscription with its episodes', async () => {
    const { clock, subscriptions, ...before } = await user.everything();
    const deletionId = await request();
    expect(await status(deletionId)).toBe('PENDING');
    const { clock: after, subscriptions: marked, ...now } = await user.everything();
    expect(now).toEqual(before);
    const mark = { deletion_id: deletionId, is_subscribed_at: expect.any(String) as string };
    expect(marked).toEqual(subscriptions.map((row) => ({ ...row, ...mark })));
    expect(after > clock).toBe(true);
  });

  it('defaults to the time of the database, not to the stamp', async () => {
    await context.owner.query(
      `UPDATE sync.user_clock SET stamp = now() + interval '1 hour' WHERE user_id = $1`,
      [user.id],
    );
    await request();
    const { rows } = await context.owner.query(
      `SELECT is_subscribed_at <= clock_timestamp() AS "isPast",
         is_subscribed_at > clock_timestamp() - interval '1 minute' AS "isRecent"
       FROM subscription.subscriptions WHERE user_id = $1`,
      [user.id],
    );
    expect(rows).toEqual([{ isPast: true, isRecent: true }]);
  });

  it('returns the same id while one is PENDING, also for concurrent requests', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => request()));
    expect(new Set(ids).size).toBe(1);
    expect(await request()).toBe(ids[0]);
  });

  it("is not_found for a deleted, unknown or another user's guid", async () => {
    await run(await request());
    const { clock } = await user.everything();
    await expect(request()).rejects.toMatchObject({ code: 'not_found' });
    await expect(request(randomUUID())).rejects.toMatchObject({ code: 'not_found' });
    await expect(context.request(randomUUID(), guid)).rejects.toMatchObject({ code: 'not_found' });
    expect((await user.everything()).clock).toEqual(clock);
  });

  it('creates a new record after FAILURE', async () => {
    const first = await request();
    await user.addAgain(subscriptionId);
    await run(first);
    const second = await request();
    expect(second).not.toBe(first);
    await run(second);
    expect([await status(first), await status(second)]).toEqual(['FAILURE', 'SUCCESS']);
  });

  it('creates a new record after a later POST; the old one ends in FAILURE', async () => {
    const first = await request();
    await user.addAgain(subscriptionId);
    const second = await request();
    expect(second).not.toBe(first);
    expect([await status(first), await status(second)]).toEqual(['FAILURE', 'PENDING']);
    await run(first);
    expect((await user.everything()).episodes).toHaveLength(3);
    await run(second);
    expect(await status(second)).toBe('SUCCESS');
  });
});

describe('DELETE with a timestamp', () => {
  const requestAt = (timestamp: string, of = guid) =>
    context.service
      .request({ userId: user.id, guid: of, timestamp }, call())
      .then(({ deletionId }) => deletionId);
  const row = async () => (await user.everything()).subscriptions[0] as Record<string, unknown>;
  const soon = () => new Date(Date.now() + 60_000).toISOString();

  it('ends in FAILURE immediately if it is older than the current value', async () => {
    const before = await row();
    const deletionId = await requestAt('2020-01-01T00:00:00Z');
    expect(await user.record(deletionId)).toMatchObject({
      status: 'FAILURE',
      cause: 'the listener subscribed or unsubscribed later than the timestamp of the request',
    });
    expect(await row()).toEqual(before);
    expect(await context.service.process({ userId: user.id, deletionId })).toBeUndefined();
  });

  it('sets the time of the subscription, pending or final', async () => {
    const time = soon();
    const deletionId = await requestAt(time);
    expect(new Date(String((await row())['is_subscribed_at']))).toEqual(new Date(time));
    await run(deletionId);
    expect(new Date(String((await row())['is_subscribed_at']))).toEqual(new Date(time));
  });

  it('returns the id of a PENDING record and keeps the later time', async () => {
    const [first, second] = [await requestAt(soon()), await requestAt(soon())];
    expect(second).toBe(first);
    const later = (await row())['is_subscribed_at'];
    expect(await requestAt('2020-01-01T00:00:00Z')).toBe(first);
    expect((await row())['is_subscribed_at']).toEqual(later);
  });

  it('leaves no reference to a record that ends at the same time', async () => {
    const deletionId = await request();
    await context.owner.query('BEGIN');
    const [{ text }, values] = endStatement(context.database, user.id, deletionId, {
      status: 'FAILURE',
      cause: 'an operator says so',
    });
    await context.owner.query(text, values);
    const again = request();
    await eventually(async () => {
      const { rows } = await context.database.pool.query(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(1);
    });
    await context.owner.query('COMMIT');
    expect(await again).toBe(deletionId);
    expect((await row())['deletion_id']).toBeNull();
  });

  it('counts as the time of arrival if it is more than 5 minutes ahead', async () => {
    await requestAt('2999-01-01T00:00:00Z');
    expect(new Date(String((await row())['is_subscribed_at'])).getTime()).toBeLessThanOrEqual(
      Date.now() + 1_000,
    );
  });

  it('of a tombstone is not_found and keeps the later time', async () => {
    await run(await request());
    const time = soon();
    await expect(requestAt('2020-01-01T00:00:00Z')).rejects.toMatchObject({ code: 'not_found' });
    expect(new Date(String((await row())['is_subscribed_at'])) < new Date(time)).toBe(true);
    await expect(requestAt(time)).rejects.toMatchObject({ code: 'not_found' });
    expect(new Date(String((await row())['is_subscribed_at']))).toEqual(new Date(time));
  });

  it('is rejected if it is not a date and time', () =>
    expect(requestAt('yesterday')).rejects.toMatchObject({ code: 'invalid' }));

  it.each(['FAILURE', 'SUCCESS'] as const)(
    'leaves no reference on the row after %s',
    async (end) => {
      const deletionId = await request();
      expect((await row())['deletion_id']).toBe(deletionId);
      if (end === 'FAILURE') await user.addAgain(subscriptionId);
      await run(deletionId);
      expect(await status(deletionId)).toBe(end);
      expect((await row())['deletion_id']).toBeNull();
    },
  );
});

describe('the cascade', () => {
  it('ends in SUCCESS with a tombstone without a title, under one stamp', async () => {
    await context.owner.query(
      `UPDATE subscription.subscriptions SET title = 'Mine', title_at = now() WHERE user_id = $1`,
      [user.id],
    );
    const deletionId = await request();
    const before = (await user.everything()).clock;
    await run(deletionId);
    expect(await status(deletionId)).toBe('SUCCESS');
    const { subscriptions, episodes, syncIds, clock } = await user.everything();
    expect([episodes, syncIds]).toEqual([null, null]);
    expect(clock > before).toBe(true);
    const [tombstone] = subscriptions;
    expect(tombstone).toMatchObject({
      is_subscribed: false,
      feed_url: 'https://podcast.example/feed',
      guid,
      title: null,
      title_at: null,
    });
    // `flipped` makes the lists of gpodder clients report the removal of the feed.
    const stamps = ['deleted', 'subscription_changed', 'flipped', 'changed'].map(
      (name) => new Date(String(tombstone?.[name])),
    );
    expect(stamps).toEqual([clock, clock, clock, clock]);
  });

  it("keeps the user's other subscriptions and their episodes", async () => {
    const other = await user.subscribe(randomUUID());
    await run(await request());
    const { subscriptions, episodes } = await user.everything();
    expect(subscriptions[1]).toMatchObject({ id: other, is_subscribed: true, deleted: null });
    expect(episodes?.map((episode) => episode['subscription_id'])).toEqual([other, other, other]);
  });

  it('deletes episodes that were changed or uploaded while it was PENDING', async () => {
    const deletionId = await request();
    await user.addEpisodes(subscriptionId);
    await run(deletionId);
    expect((await user.everything()).episodes).toBeNull();
  });

  it('takes effect once for repeated jobs', async () => {
    const deletionId = await request();
    await Promise.all(Array.from({ length: 5 }, () => run(deletionId)));
    const after = await user.everything();
    await run(deletionId);
    expect(await user.everything()).toEqual(after);
    expect(new Date(String(after.subscriptions[0]?.['deleted']))).toEqual(after.clock);
  });

  it('ends in FAILURE without changes after a later POST', async () => {
    const deletionId = await request();
    await user.addAgain(subscriptionId);
    const before = await user.everything();
    await run(deletionId);
    expect(await status(deletionId)).toBe('FAILURE');
    expect(await user.everything()).toEqual(before);
  });

  it('ends in FAILURE without changes after a merge, and keeps the survivor', async () => {
    const deletionId = await request();
    const survivor = await user.subscribe(randomUUID());
    await user.merge(subscriptionId, survivor);
    const before = await user.everything();
    await run(deletionId);
    expect(await status(deletionId)).toBe('FAILURE');
    expect(await user.everything()).toEqual(before);
  });

  it('ends in FAILURE for both subscriptions of a merge', async () => {
    const other = randomUUID();
    const otherId = await user.subscribe(other);
    const deletionIds = [await request(), await request(other)];
    await user.merge(otherId, subscriptionId);
    for (const deletionId of deletionIds) await run(deletionId);
    expect(await Promise.all(deletionIds.map((id) => status(id)))).toEqual(['FAILURE', 'FAILURE']);
    expect((await user.everything()).episodes).toHaveLength(6);
  });

  it('does nothing without a record', async () => {
    const before = await user.everything();
    await run(Number.MAX_SAFE_INTEGER);
    expect(await user.everything()).toEqual(before);
  });

  it('rolls back as a whole: after a fault the record is PENDING and all data exists', async () => {
    const deletionId = await request();
    const before = await user.everything();
    await context.owner.query(`
      CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'no tombstones today'; END
      $$;
      CREATE TRIGGER no_tombstones BEFORE UPDATE ON subscription.subscriptions
      FOR EACH ROW EXECUTE FUNCTION public.fail()`);
    try {
      await expect(run(deletionId)).rejects.toThrow('no tombstones today');
    } finally {
      await context.owner.query('DROP FUNCTION public.fail() CASCADE');
    }
    expect(await status(deletionId)).toBe('PENDING');
    expect(await user.everything()).toEqual(before);
    await run(deletionId);
    expect(await status(deletionId)).toBe('SUCCESS');
  });
});
