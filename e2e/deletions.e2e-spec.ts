import { describe, expect, test } from 'vitest';
import { expectError, stampForm } from './http.js';
import type { Deletion, DeletionAccepted } from './interface.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

// deletion.service.int-spec.ts of the deletion worker and the profile `deletions` of the
// conformance suite own the rules.

describe('DELETE', () => {
  test('answers 202 with an id and a message', async () => {
    const ann = await User.fresh();
    const answer = await ann.delete<DeletionAccepted>(`/subscriptions/${await ann.subscribed()}`);
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        deletion_id: expect.any(Number),
        message: 'Deletion request was received and will be processed',
      },
    ]);
    expect(Number.isSafeInteger(answer.body.deletion_id) && answer.body.deletion_id > 0).toBe(true);
  });

  test('goes from PENDING to SUCCESS, which is final', async () => {
    const ann = await User.fresh();
    const id = await ann.requestDeletion(await ann.subscribed());
    const first = await ann.get<Deletion>(`/deletions/${id}`);
    const pending = { deletion_id: id, status: 'PENDING', message: 'Deletion is pending' };
    const success = {
      deletion_id: id,
      status: 'SUCCESS',
      message: 'Subscription deleted successfully',
    };
    expect([pending, success]).toContainEqual(first.body);
    expect(await ann.ended(id)).toEqual(success);
    expect((await ann.get(`/deletions/${id}`)).body).toEqual(success);
  });

  test('ignores a body', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    expect((await ann.send('DELETE', `/subscriptions/${guid}`, { body: {} })).status).toBe(202);
  });
});

describe('a deleted subscription', () => {
  test('stays in the list as a tombstone: deleted, not subscribed, equal stamps', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(feed('a'), newGuid());
    const { sync } = await ann.subscriptions();
    await ann.deleted(guid);
    const { total, subscriptions } = await ann.subscriptions();
    const deleted = subscriptions[0]?.deleted;
    expect(deleted).toMatch(stampForm);
    const tombstone = {
      feed_url: feed('a'),
      guid,
      is_subscribed: false,
      subscription_changed: deleted,
      deleted,
    };
    expect({ total, subscriptions }).toEqual({ total: 1, subscriptions: [tombstone] });
    expect((await ann.subscriptions({ since: sync })).subscriptions).toEqual([tombstone]);
    expect((await ann.subscriptions()).sync).toBe(deleted);
  });
});

describe('GET /deletions/{id}', () => {
  test('is 405 for an id other than a positive safe integer in decimal digits', async () => {
    const ann = await User.fresh();
    for (const id of [
      '0',
      '-1',
      '1.5',
      'x',
      '1e3',
      '0x1',
      '+1',
      '%201',
      '9007199254740992',
      '٣',
      '%00',
    ])
      expectError(await ann.get(`/deletions/${id}`), 405);
  });
});
