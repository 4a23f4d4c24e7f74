import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoredUser } from '../../testing/stored-user.js';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';

let context: WorkerContext;
let user: StoredUser;

beforeAll(async () => {
  context = await openWorker(undefined, { QUOTA_TOMBSTONES: 3, QUOTA_DELETION_RECORDS: 5 });
});
afterAll(() => context.close());
beforeEach(() => {
  user = new StoredUser(context.owner);
});

const request = (guid: string, requestId?: string) => context.request(user.id, guid, requestId);

/** Deletes a subscription. @returns the id of the record. */
async function deleteSubscription(guid: string): Promise<number> {
  const deletionId = await request(guid);
  await context.service.process({ userId: user.id, deletionId });
  return deletionId;
}

/** Reads a column of the user's rows in a table of subscriptions. */
async function column(table: string, name: string): Promise<unknown[]> {
  const { rows } = await context.owner.query<{ value: unknown }>(
    `SELECT ${name} AS value FROM subscription.${table} WHERE user_id = $1 ORDER BY 1`,
    [user.id],
  );
  return rows.map(({ value }) => value);
}

describe('tombstones', () => {
  it('above the quota are deleted, oldest first, with guids, URLs and pointers', async () => {
    const guids = Array.from({ length: 6 }, () => randomUUID());
    const ids: number[] = [];
    for (const guid of guids) ids.push(await user.subscribe(guid));
    const pointer = await user.subscribe(randomUUID());
    await user.merge(pointer, ids[0] as number);
    for (const id of [...ids, pointer]) {
      await context.owner.query(
        `INSERT INTO subscription.former_guids VALUES ($1, $2, now(), gen_random_uuid())`,
        [user.id, id],
      );
      await context.owner.query(`INSERT INTO subscription.feed_urls VALUES ($1, sha256($2), $3)`, [
        user.id,
        Buffer.from(String(id)),
        id === pointer ? ids[0] : id,
      ]);
    }
    for (const guid of guids.slice(0, 5)) await deleteSubscription(guid);
    const kept = ids.slice(2).map(String);
    expect(await column('subscriptions', 'id::text')).toEqual(kept.toSorted());
    for (const table of ['guids', 'feed_urls', 'former_guids'])
      expect([...new Set(await column(table, 'subscription_id::text'))]).toEqual(kept.toSorted());
    await expect(request(guids[0] as string)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('above a reduced quota are deleted a hundred at a time', async () => {
    await context.owner.query(
      `INSERT INTO subscription.subscriptions
         (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, deleted,
          changed)
       SELECT $1, 'https://gone.example', gen_random_uuid(), false, t, t, t, t
       FROM generate_series(1, 150) n,
         LATERAL (SELECT 'epoch'::timestamptz + n * interval '1 day' AS t) x`,
      [user.id],
    );
    const left = [];
    for (let n = 0; n < 3; n += 1) {
      const guid = randomUUID();
      await user.subscribe(guid);
      await deleteSubscription(guid);
      left.push((await column('subscriptions', 'id')).length);
    }
    expect(left).toEqual([51, 3, 3]);
  });

  it('with many pointers are deleted after these, a hundred at a time', async () => {
    const guids = Array.from({ length: 6 }, () => randomUUID());
    const ids: number[] = [];
    for (const guid of guids) ids.push(await user.subscribe(guid));
    await context.owner.query(
      `INSERT INTO subscription.subscriptions
         (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed,
          merged_into, merged_at, changed)
       SELECT $1, 'https://gone.example', gen_random_uuid(), false, 'epoch', 'epoch', $2, 'epoch',
         'epoch'
       FROM generate_series(1, 150)`,
      [user.id, ids[0]],
    );
    const left = [];
    for (const guid of guids) {
      await deleteSubscription(guid);
      left.push((await column('subscriptions', 'id')).length);
    }
    expect(left).toEqual([156, 156, 156, 56, 4, 3]);
  });
});

describe('final records', () => {
  it('above the quota are deleted, oldest first; PENDING records stay', async () => {
    const waiting = randomUUID();
    await user.subscribe(waiting);
    const pending = await request(waiting);
    const ended: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      const guid = randomUUID();
      await user.subscribe(guid);
      ended.push(await deleteSubscription(guid));
    }
    for (const gone of ended.slice(0, 2)) expect(await user.record(gone)).toBeUndefined();
    for (const kept of ended.slice(2))
      expect(await user.record(kept)).toMatchObject({ status: 'SUCCESS' });
    expect(await user.record(pending)).toMatchObject({ status: 'PENDING' });
  });

  it('are also deleted by requests that end a record without a worker', async () => {
    const guid = randomUUID();
    const id = await user.subscribe(guid);
    for (let n = 0; n < 8; n += 1) {
      await request(guid);
      await user.addAgain(id);
    }
    const { rows } = await context.owner.query(
      'SELECT status FROM deletion.deletions WHERE user_id = $1',
      [user.id],
    );
    // The earlier final records, the record that ended now, and the PENDING record.
    expect(rows.length).toBeLessThanOrEqual(5 + 2);
  });
});

describe('a repeated DELETE without its stored answer', () => {
  const forget = () => context.owner.query('DELETE FROM sync.answer WHERE user_id = $1', [user.id]);

  it('returns its own deletion in any state and creates none', async () => {
    const [guid, requestId] = [randomUUID(), randomUUID()];
    await user.subscribe(guid);
    const deletionId = await request(guid, requestId);
    await forget();
    expect(await request(guid, requestId)).toBe(deletionId);
    await context.service.process({ userId: user.id, deletionId });
    await forget();
    expect(await request(guid, requestId)).toBe(deletionId);
    const { rows } = await context.owner.query(
      'SELECT id::float8 AS id FROM deletion.deletions WHERE user_id = $1',
      [user.id],
    );
    expect(rows).toEqual([{ id: deletionId }]);
  });

  it('returns the latest deletion, although ids are random', async () => {
    const [guid, requestId] = [randomUUID(), randomUUID()];
    const subscriptionId = await user.subscribe(guid);
    await request(guid);
    await user.addAgain(subscriptionId);
    const deletionId = await request(guid, requestId);
    // The greatest id that a deletion can have.
    await context.owner.query(
      'UPDATE deletion.deletions SET id = (2 ^ 52)::bigint WHERE user_id = $1 AND id <> $2',
      [user.id, deletionId],
    );
    await forget();
    expect(await request(guid, requestId)).toBe(deletionId);
  });

  it('is not_found again if the first request matched nothing', async () => {
    const requestId = randomUUID();
    await expect(request(randomUUID(), requestId)).rejects.toMatchObject({ code: 'not_found' });
    await forget();
    await expect(request(randomUUID(), requestId)).rejects.toMatchObject({ code: 'not_found' });
  });
});
