import { describe, expect, test } from 'vitest';
import { expectError, stampForm } from './http.js';
import type { Deletion, DeletionAccepted } from './interface.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

const [urlA, urlB] = [feed('a'), feed('b')];

async function userWithTombstone() {
  const ann = await User.fresh();
  const guid = await ann.subscribed(urlA, newGuid());
  const made = await ann.uploaded(episode(guid, 1, { played_status: { value: true, timestamp: '2023-02-23T14:00' } }));
  const { sync } = await ann.subscriptions();
  await ann.deleted(guid);
  return { ann, guid, syncId: made.sync_id, sync };
}

describe('DELETE', () => {
  test('is accepted with 202, an id and the message that it will be processed', async () => {
    const ann = await User.fresh();
    const answer = await ann.delete<DeletionAccepted>(`/subscriptions/${await ann.subscribed()}`);
    expect([answer.status, answer.body]).toEqual([
      202,
      { deletion_id: expect.any(Number), message: 'Deletion request was received and will be processed' },
    ]);
    expect(Number.isSafeInteger(answer.body.deletion_id) && answer.body.deletion_id > 0).toBe(true);
  });

  test('leads from PENDING to SUCCESS, which is final', async () => {
    const ann = await User.fresh();
    const id = await ann.requestDeletion(await ann.subscribed());
    const first = await ann.get<Deletion>(`/deletions/${id}`);
    const pending = { deletion_id: id, status: 'PENDING', message: 'Deletion is pending' };
    const success = { deletion_id: id, status: 'SUCCESS', message: 'Subscription deleted successfully' };
    expect([pending, success]).toContainEqual(first.body);
    expect(await ann.ended(id)).toEqual(success);
    expect((await ann.get(`/deletions/${id}`)).body).toEqual(success);
  });

  test('on something deleted is 404', async () => {
    const { ann, guid } = await userWithTombstone();
    expectError(await ann.delete(`/subscriptions/${guid}`), 404);
  });

  test('works on an unsubscribed subscription', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    await ann.update(guid, { is_subscribed: false });
    await ann.deleted(guid);
    expectError(await ann.get(`/subscriptions/${guid}`), 410);
  });

  test('leaves everything else of the user as it was', async () => {
    const ann = await User.fresh();
    const [gone, stays] = [await ann.subscribed(urlA), await ann.subscribed(urlB)];
    await ann.upload(episode(gone, 1), episode(stays, 1), episode(stays, 2));
    const before = await ann.subscription(stays);
    await ann.deleted(gone);
    expect(await ann.subscription(stays)).toEqual(before);
    expect((await ann.episodes()).episodes.map((row) => row.podcast_guid)).toEqual([stays, stays]);
  });

  test('takes a body that nobody reads', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    expect((await ann.send('DELETE', `/subscriptions/${guid}`, { body: {} })).status).toBe(202);
  });
});

describe('a deleted subscription', () => {
  test('is 410 for GET and 404 for PATCH and DELETE, by any guid it ever had', async () => {
    const ann = await User.fresh();
    const [old, current] = [await ann.subscribed(), newGuid()];
    await ann.update(old, { new_guid: current });
    await ann.deleted(current);
    for (const guid of [old, current]) {
      expectError(await ann.get(`/subscriptions/${guid}`), 410);
      expectError(await ann.patch(`/subscriptions/${guid}`, { is_subscribed: true }), 404);
      expectError(await ann.delete(`/subscriptions/${guid}`), 404);
    }
  });

  test('leaves a tombstone in the list: deleted, not subscribed, subscription_changed = deleted', async () => {
    const { ann, guid, sync } = await userWithTombstone();
    const { total, subscriptions } = await ann.subscriptions();
    const deleted = subscriptions[0]?.deleted;
    expect(deleted).toMatch(stampForm);
    const tombstone = { feed_url: urlA, guid, is_subscribed: false, subscription_changed: deleted, deleted };
    expect({ total, subscriptions }).toEqual({ total: 1, subscriptions: [tombstone] });
    expect((await ann.subscriptions({ since: sync })).subscriptions).toEqual([tombstone]);
    expect((await ann.subscriptions()).sync).toBe(deleted);
  });

  test('has no episodes any more, and takes none', async () => {
    const { ann, guid, syncId } = await userWithTombstone();
    expect((await ann.episodes()).total).toBe(0);
    expect((await ann.refused(episode(guid, 1))).podcast_guid).toBe(guid);
    await ann.refused({ podcast_guid: guid, sync_id: syncId });
  });

  test('frees the sync_ids of its episodes', async () => {
    const { ann, syncId } = await userWithTombstone();
    const other = await ann.subscribed(urlB);
    expect(await ann.uploaded(episode(other, 2, { sync_id: syncId }))).toMatchObject({ sync_id: syncId });
  });

  test('still counts a guid change in its row', async () => {
    const ann = await User.fresh();
    const [old, current] = [await ann.subscribed(), newGuid()];
    const { sync } = await ann.subscriptions();
    await ann.update(old, { new_guid: current });
    await ann.deleted(old);
    expect((await ann.subscriptions({ since: sync })).subscriptions).toMatchObject([{ guid: old, new_guid: current }]);
  });
});

describe('POST brings a deleted subscription back, without its episodes', () => {
  test('by its feed_url', async () => {
    const { ann, guid } = await userWithTombstone();
    const [back] = await ann.subscribe(urlA);
    expect(await ann.subscription(guid)).toEqual({
      feed_url: urlA,
      guid,
      is_subscribed: true,
      subscription_changed: back?.subscription_changed,
    });
    expect((await ann.episodes()).total).toBe(0);
    expect((await ann.subscriptions()).subscriptions).toEqual([await ann.subscription(guid)]);
  });

  test('by its guid, with a new URL as a move', async () => {
    const { ann, guid } = await userWithTombstone();
    await ann.subscribed(urlB, guid);
    expect(await ann.subscription(guid)).toMatchObject({ guid, feed_url: urlB, is_subscribed: true });
    expect(await ann.subscribed(urlA)).toBe(guid);
  });

  test('by a guid or URL that it once had', async () => {
    const ann = await User.fresh();
    const [old, current] = [await ann.subscribed(urlA, newGuid()), newGuid()];
    await ann.update(old, { new_guid: current, new_feed_url: urlB });
    await ann.deleted(current);
    expect(await ann.subscribed(urlA)).toBe(current);
    await ann.deleted(current);
    expect(await ann.subscribed(urlB, old)).toBe(current);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('as a fresh start: a replay of an old episode state is taken again', async () => {
    const { ann, guid, syncId } = await userWithTombstone();
    await ann.subscribed(urlA);
    const again = await ann.uploaded(
      episode(guid, 1, { played_status: { value: false, timestamp: '2023-02-23T13:00' } }),
    );
    expect(again.played_status).toEqual({ value: false, timestamp: '2023-02-23T13:00' });
    expect(again.sync_id).not.toBe(syncId);
  });

  test('and a DELETE after that makes a new record', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA);
    const first = await ann.requestDeletion(guid);
    await ann.ended(first);
    await ann.subscribed(urlA);
    const second = await ann.requestDeletion(guid);
    expect(second).not.toBe(first);
    expect((await ann.ended(second)).status).toBe('SUCCESS');
    expect((await ann.ended(first)).status).toBe('SUCCESS');
  });
});

describe('while a deletion is pending', () => {
  /** Deletes and adds a subscription at once, over and over until the POST came between request and cascade. */
  async function overtaken(judge: (ann: User, guid: string, deletion: Deletion) => Promise<void>) {
    for (let round = 0; round < 100; round += 1) {
      const ann = await User.fresh();
      const guid = await ann.subscribed(urlA);
      await ann.upload(...numbers(3).map((n) => episode(guid, n)));
      const [id] = await Promise.all([ann.requestDeletion(guid), ann.subscribed(urlA)]);
      const deletion = await ann.ended(id);
      await judge(ann, guid, deletion);
      if (deletion.status === 'FAILURE') return;
    }
    throw new Error('the POST never came first');
  }

  test('a POST that adds the subscription again wins: FAILURE, and nothing is deleted', async () => {
    const message = 'The deletion process encountered an error and was rolled back';
    await overtaken(async (ann, guid, { status, message: said }) => {
      const [read, episodes] = [(await ann.get(`/subscriptions/${guid}`)).status, (await ann.episodes()).total];
      const success = { status: 'SUCCESS', message: 'Subscription deleted successfully' };
      expect([
        { status: 'FAILURE', message, read: 200, episodes: 3 },
        // The POST came before the request, or after the cascade.
        { ...success, read: 410, episodes: 0 },
        { ...success, read: 200, episodes: 0 },
      ]).toContainEqual({ status, message: said, read, episodes });
    });
  });

  test('a DELETE after FAILURE makes a new record', async () => {
    await overtaken(async (ann, guid, first) => {
      await ann.subscribed(urlA);
      const second = await ann.requestDeletion(guid);
      expect(second).not.toBe(first.deletion_id);
      expect((await ann.ended(second)).status).toBe('SUCCESS');
      expect(await ann.ended(first.deletion_id)).toEqual(first);
    });
  });

  test('PATCH and uploads are accepted and then deleted with it; until then it reads as live', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA);
    const [id, patch, upload, read] = await Promise.all([
      ann.requestDeletion(guid),
      ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }),
      ann.post('/episodes', { episodes: [episode(guid, 1)] }),
      ann.get(`/subscriptions/${guid}`),
    ]);
    expect([200, 404]).toContain(patch.status);
    expect(upload.status).toBe(200);
    expect([200, 410]).toContain(read.status);
    expect((await ann.ended(id)).status).toBe('SUCCESS');
    expect((await ann.episodes()).total).toBe(0);
    expectError(await ann.get(`/subscriptions/${guid}`), 410);
  });
});

describe('GET /deletions/{id}', () => {
  test.each([
    '0',
    '-1',
    '1.5',
    'x',
    '1e3',
    '0x1',
    '+1',
    '%201',
    '9007199254740992',
    '1'.repeat(400),
    '٣',
    '%00',
    'null',
  ])('with an id that is no positive safe integer of decimal digits is 405: %s', async (id) =>
    expectError(await (await User.fresh()).get(`/deletions/${id}`), 405),
  );

  test('of nothing is 404', async () => {
    expectError(await (await User.fresh()).get('/deletions/9007199254740991'), 404);
  });

  test("of another user's is 404", async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    const id = await ann.requestDeletion(await ann.subscribed());
    expectError(await bob.get(`/deletions/${id}`), 404);
    expect((await ann.get(`/deletions/${id}`)).status).toBe(200);
  });
});
