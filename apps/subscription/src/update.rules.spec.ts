import { describe, expect, it } from 'vitest';
import { podcastGuid } from '#contracts';
import {
  decodedUrls,
  equalUrls,
  inBothOrders,
} from '../../../libs/contracts/testing/url-vectors.js';
import {
  A,
  B,
  C,
  D,
  changedRow,
  type SubscriptionFixture,
  earlier,
  now,
  subscriptionSet,
  subscriptionSetWithQuotas,
  u,
  v,
  w,
} from '../testing/subscription-set.fixture.js';
import type { SubscriptionRow } from './subscription-row.js';
import type { RowCounts } from './remaining-quota.js';
import { applyPatch } from './update.rules.js';

const X: SubscriptionFixture = { id: 1, urls: [u], guids: [A] };
const Y: SubscriptionFixture = { id: 2, urls: [v, w], guids: [B, C] };

function patch(
  fields: {
    newFeedUrl?: string;
    newGuid?: string;
    isSubscribed?: boolean;
    timestamp?: string;
    title?: string;
  },
  ...described: SubscriptionFixture[]
) {
  const subscriptions = subscriptionSet(...described);
  const answer = applyPatch(subscriptions, subscriptions.byGuid(A) as SubscriptionRow, fields);
  return {
    subscriptions,
    answer,
    row: changedRow(subscriptions, 1),
    other: changedRow(subscriptions, 2),
  };
}

describe('PATCH', () => {
  it('stamps is_subscribed even if the value is unchanged', () => {
    const { answer, row } = patch({ isSubscribed: true }, X);
    expect(answer).toEqual({ is_subscribed: true, subscription_changed: now });
    expect(row).toMatchObject({
      isSubscribed: true,
      subscriptionChanged: now,
      guidChanged: null,
      changed: now,
    });
  });

  it('stores a title in its normalized form, and stamps the change', () => {
    const { answer, row } = patch({ title: ' A\nB ' }, X);
    expect(answer).toEqual({ title: 'A B', subscription_changed: now });
    expect(row).toMatchObject({ title: 'A B', changed: now, flippedAt: earlier });
  });

  it('removes a title by an empty one', () => {
    const { answer, row } = patch({ title: '' }, { ...X, title: 'A' });
    expect(answer).toEqual({ title: '', subscription_changed: now });
    expect(row).toMatchObject({ title: null, titleAt: expect.any(String), changed: now });
  });

  it('does not stamp an equal title, and ignores an older one', () => {
    const titled = { ...X, title: 'A', titleAt: '2026-01-05T00:00:00.000000Z' };
    expect(patch({ title: 'A' }, titled)).toMatchObject({
      answer: { title: 'A', subscription_changed: earlier },
      row: { changed: earlier },
    });
    expect(patch({ title: 'B', timestamp: '2026-01-04T00:00:00.000000Z' }, titled)).toMatchObject({
      answer: { title: 'A', subscription_changed: earlier },
      row: undefined,
    });
  });

  it('unsubscribes and keeps a pending deletion', () => {
    const { row } = patch({ isSubscribed: false }, { ...X, deletionId: 7 });
    expect(row).toMatchObject({ isSubscribed: false, deletionId: 7, deleted: null });
  });

  it('answers new_guid with guid_changed and keeps the old guid as an alias', () => {
    const { answer, row, subscriptions } = patch({ newGuid: D }, X);
    expect(answer).toEqual({ new_guid: D, guid_changed: now });
    expect(row).toMatchObject({
      guid: D,
      guidChanged: now,
      subscriptionChanged: earlier,
      changed: now,
    });
    expect(subscriptions.byGuid(A)?.id).toBe(1);
    expect(subscriptions.changes().formerGuids).toEqual([[1, A]]);
  });

  it('stamps a new_guid that is the current one, without a former guid', () => {
    const { answer, row, subscriptions } = patch({ newGuid: A }, X);
    expect(answer).toEqual({ new_guid: A, guid_changed: now });
    expect(row).toMatchObject({ guid: A, guidChanged: now });
    expect(subscriptions.changes().formerGuids).toEqual([]);
  });

  it('can restore a former guid', () => {
    const { row, subscriptions } = patch({ newGuid: B }, { ...X, guids: [A, B] });
    expect(row).toMatchObject({ guid: B });
    expect(subscriptions.changes()).toMatchObject({ formerGuids: [[1, A]], merges: [] });
  });

  it('answers new_feed_url with subscription_changed and keeps the old URL', () => {
    const { answer, row, subscriptions } = patch({ newFeedUrl: w }, X);
    expect(answer).toEqual({ new_feed_url: w, subscription_changed: now });
    expect(row).toMatchObject({ feedUrl: w, subscriptionChanged: now });
    expect(subscriptions.byUrl(u)?.id).toBe(1);
  });

  it('stamps a new_feed_url that is the current one', () => {
    expect(patch({ newFeedUrl: u }, X).row).toMatchObject({ feedUrl: u, subscriptionChanged: now });
  });

  it('answers with all sent fields', () => {
    expect(patch({ newFeedUrl: w, newGuid: D, isSubscribed: false }, X).answer).toEqual({
      new_feed_url: w,
      new_guid: D,
      is_subscribed: false,
      subscription_changed: now,
      guid_changed: now,
    });
  });

  it('takes a former URL of another subscription without a merge', () => {
    const { subscriptions, row, other } = patch({ newFeedUrl: w }, X, Y);
    expect(row).toMatchObject({ feedUrl: w });
    expect(subscriptions.byUrl(w)?.id).toBe(1);
    expect(other).toMatchObject({ mergedInto: null, isSubscribed: true, flippedAt: now });
    expect(subscriptions.changes().merges).toEqual([]);
  });
});

describe('a merging PATCH', () => {
  it.each([
    ['the current guid', B],
    ['a former guid', C],
  ])('absorbs the subscription that new_guid names by %s, with all its names', (_, newGuid) => {
    const { subscriptions, row, other, answer } = patch({ newGuid }, X, Y);
    expect(answer).toEqual({ new_guid: newGuid, guid_changed: now });
    expect(subscriptions.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect([A, B, C].map((name) => subscriptions.byGuid(name)?.id)).toEqual([1, 1, 1]);
    expect([u, v, w].map((name) => subscriptions.byUrl(name)?.id)).toEqual([1, 1, 1]);
    expect(row).toMatchObject({
      guid: newGuid,
      feedUrl: u,
      guidChanged: now,
      subscriptionChanged: earlier,
    });
    expect(other).toMatchObject({
      guid: B,
      feedUrl: v,
      mergedInto: 1,
      mergedAt: now,
      changed: now,
    });
  });

  it('absorbs the subscription with the current URL', () => {
    const { subscriptions, row } = patch({ newFeedUrl: v }, X, Y);
    expect(subscriptions.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect(row).toMatchObject({ feedUrl: v, guid: A, subscriptionChanged: now, guidChanged: null });
  });

  it('absorbs two subscriptions if guid and URL match different ones', () => {
    const Z: SubscriptionFixture = { id: 3, urls: [w], guids: [D] };
    const { subscriptions, row } = patch({ newGuid: B, newFeedUrl: w }, X, { ...Y, urls: [v] }, Z);
    expect(subscriptions.changes().merges).toMatchObject([
      { from: 2, into: 1 },
      { from: 3, into: 1 },
    ]);
    expect(row).toMatchObject({ guid: B, feedUrl: w });
    expect([A, B, C, D].map((name) => subscriptions.byGuid(name)?.id)).toEqual([1, 1, 1, 1]);
  });

  it('absorbs a subscription once if both guid and URL match it', () => {
    const { subscriptions, row } = patch({ newGuid: C, newFeedUrl: v }, X, Y);
    expect(subscriptions.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect(row).toMatchObject({ guid: C, feedUrl: v });
  });

  it('absorbs nothing if it has the guid and URL itself', () => {
    const { subscriptions } = patch(
      { newGuid: D, newFeedUrl: w },
      { ...X, guids: [A, D], urls: [u, w] },
    );
    expect(subscriptions.changes().merges).toEqual([]);
  });

  it('subscribes if either was subscribed, and stamps that change', () => {
    const { row, answer } = patch({ newGuid: B }, { ...X, isSubscribed: false }, Y);
    expect(row).toMatchObject({ isSubscribed: true, subscriptionChanged: now });
    expect(answer).not.toHaveProperty('is_subscribed');
  });

  it('does not stamp a subscription that was already subscribed', () => {
    expect(patch({ newGuid: B }, X, { ...Y, isSubscribed: false }).row).toMatchObject({
      isSubscribed: true,
      subscriptionChanged: earlier,
    });
  });

  it('applies a sent is_subscribed', () => {
    expect(patch({ newGuid: B, isSubscribed: false }, X, Y).row).toMatchObject({
      isSubscribed: false,
    });
  });

  it('is not subscribed by a tombstone and stays live', () => {
    const { row } = patch(
      { newGuid: B },
      { ...X, isSubscribed: false },
      { ...Y, deleted: earlier, isSubscribed: false },
    );
    expect(row).toMatchObject({ isSubscribed: false, deleted: null, subscriptionChanged: earlier });
  });
});

describe('PATCH with a timestamp', () => {
  const at = (minute: number) => `2026-01-15T00:${String(minute).padStart(2, '0')}:00.000000Z`;
  const current: SubscriptionFixture = { ...X, subscribedAt: at(10) };

  it('that is later applies is_subscribed and becomes the current time', () => {
    const { row, answer } = patch({ isSubscribed: false, timestamp: at(11) }, current);
    expect(answer).toEqual({ is_subscribed: false, subscription_changed: now });
    expect(row).toMatchObject({ isSubscribed: false, subscribedAt: at(11) });
  });

  it('that is earlier applies the other fields and answers with the current value', () => {
    const { row, answer } = patch({ isSubscribed: false, newGuid: D, timestamp: at(9) }, current);
    expect(answer).toEqual({
      is_subscribed: true,
      subscription_changed: earlier,
      new_guid: D,
      guid_changed: now,
    });
    expect(row).toMatchObject({
      isSubscribed: true,
      subscribedAt: at(10),
      guid: D,
      subscriptionChanged: earlier,
    });
  });

  it('has no effect without is_subscribed', () => {
    const { row } = patch({ newGuid: D, timestamp: at(20) }, current);
    expect(row).toMatchObject({ guid: D, subscribedAt: at(10) });
  });

  it('does not change the time of a pending DELETE', () => {
    const { row } = patch(
      { isSubscribed: false, timestamp: at(20) },
      { ...current, deletionId: 7 },
    );
    expect(row).toMatchObject({ isSubscribed: false, subscribedAt: at(10), deletionId: 7 });
  });

  it.each([
    [at(12), at(12)],
    [at(8), at(10)],
  ])('keeps the later time of the two in a merge: %s', (subscribedAt, later) => {
    expect(patch({ newGuid: B }, current, { ...Y, subscribedAt }).row).toMatchObject({
      subscribedAt: later,
    });
  });

  it('cancels the pending deletions of both in a merge', () => {
    const { row, other } = patch(
      { newGuid: B },
      { ...current, deletionId: 7 },
      { ...Y, deletionId: 8 },
    );
    expect([row?.deletionId, other?.deletionId]).toEqual([null, null]);
  });
});

describe('names that a PATCH adds', () => {
  it('include the derived guid of new_feed_url, unless a live one has it', () => {
    expect(patch({ newFeedUrl: w }, X).subscriptions.byGuid(podcastGuid(w))?.id).toBe(1);
    const other: SubscriptionFixture = { id: 2, urls: [v], guids: [B, podcastGuid(w)] };
    expect(patch({ newFeedUrl: w }, X, other).subscriptions.byGuid(podcastGuid(w))?.id).toBe(2);
  });

  it('count new_guid as declared, unless a URL of the subscription yields it', () => {
    const derived: SubscriptionFixture = { id: 1, urls: [u], guids: [A], declared: [] };
    expect(patch({ newGuid: D }, derived).row).toMatchObject({ declaredGuids: 1 });
    expect(patch({ newGuid: podcastGuid(u) }, derived).row).toMatchObject({ declaredGuids: 0 });
  });
});

describe('an exceeded quota', () => {
  const exceeded = (
    left: Partial<RowCounts>,
    fields: { newFeedUrl?: string; newGuid?: string; isSubscribed?: boolean },
  ) => {
    const subscriptions = subscriptionSetWithQuotas(left, X, Y);
    applyPatch(subscriptions, subscriptions.byGuid(A) as SubscriptionRow, fields);
    return subscriptions.quota.isExceeded;
  };

  it.each<[Partial<RowCounts>, { newFeedUrl?: string; newGuid?: string }]>([
    [{ guids: 0 }, { newGuid: D }],
    [{ guidChanges: 0 }, { newGuid: D }],
    [{ urls: 0 }, { newFeedUrl: 'https://new.example' }],
    [{ pointers: 0 }, { newGuid: B }],
    [{ pointers: 0 }, { newFeedUrl: v }],
  ])('is reported after the PATCH: %j, %j', (left, fields) => {
    expect(exceeded(left, fields)).toBe(true);
  });

  it('does not prevent changes and merges that add no guid or URL', () => {
    const none = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };
    expect(exceeded(none, { newGuid: A, newFeedUrl: w, isSubscribed: false })).toBe(false);
    expect(exceeded({ ...none, pointers: 1, guidChanges: 1 }, { newGuid: B })).toBe(false);
  });
});

describe('new_feed_url that equals a stored URL', () => {
  const pairs = inBothOrders([...equalUrls, ...decodedUrls]);

  it.each(pairs)('changes the shown URL and keeps all guids and URLs: %s, %s', (first, second) => {
    const { subscriptions, answer, row } = patch(
      { newFeedUrl: second },
      { id: 1, urls: [first], guids: [A] },
    );
    expect(answer).toEqual({ new_feed_url: second, subscription_changed: now });
    expect(row).toMatchObject({ feedUrl: second, guid: A });
    expect(subscriptions.byUrl(first)?.id).toBe(1);
    expect(subscriptions.changes()).toMatchObject({
      merges: [],
      formerUrls: [first],
      added: { urls: 0 },
    });
  });

  it.each(pairs)('merges the subscription that has it: %s, %s', (first, second) => {
    const { other } = patch({ newFeedUrl: second }, X, { id: 2, urls: [first], guids: [B] });
    expect(other).toMatchObject({ mergedInto: 1 });
  });
});
