import { describe, expect, it } from 'vitest';
import { podcastGuid } from '#contracts';
import {
  decodedUrls,
  equalUrls,
  inBothOrders,
} from '../../../libs/contracts/testing/url.vectors.js';
import {
  changedRow,
  type Described,
  earlier,
  guid,
  now,
  world,
  worldWith,
} from '../testing/known.world.js';
import type { SubscriptionRow } from './subscription.row.js';
import type { Remaining } from './remaining.quota.js';
import { applyPatch } from './update.rule.js';

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map(guid) as [string, string, string, string];
const [u, v, w] = [
  'https://u.example/feed',
  'https://v.example/feed',
  'https://w.example/feed',
] as const;
const X: Described = { id: 1, urls: [u], guids: [A] };
const Y: Described = { id: 2, urls: [v, w], guids: [B, C] };

function patch(
  fields: { newFeedUrl?: string; newGuid?: string; isSubscribed?: boolean; timestamp?: string },
  ...described: Described[]
) {
  const known = world(...described);
  const answer = applyPatch(known, known.byGuid(A) as SubscriptionRow, fields);
  return { known, answer, row: changedRow(known, 1), other: changedRow(known, 2) };
}

describe('PATCH', () => {
  it('answers is_subscribed with subscription_changed and stamps it, also when the value is the same', () => {
    const { answer, row } = patch({ isSubscribed: true }, X);
    expect(answer).toEqual({ is_subscribed: true, subscription_changed: now });
    expect(row).toMatchObject({
      isSubscribed: true,
      subscriptionChanged: now,
      guidChanged: null,
      changed: now,
    });
  });

  it('unsubscribes, and a deletion that is pending goes on', () => {
    const { row } = patch({ isSubscribed: false }, { ...X, deletionId: 7 });
    expect(row).toMatchObject({ isSubscribed: false, deletionId: 7, deleted: null });
  });

  it('answers new_guid with guid_changed alone and keeps the old guid as a name', () => {
    const { answer, row, known } = patch({ newGuid: D }, X);
    expect(answer).toEqual({ new_guid: D, guid_changed: now });
    expect(row).toMatchObject({
      guid: D,
      guidChanged: now,
      subscriptionChanged: earlier,
      changed: now,
    });
    expect(known.byGuid(A)?.id).toBe(1);
    expect(known.changes().formerGuids).toEqual([[1, A]]);
  });

  it('stamps a new_guid that is the current one, and remembers no former one for it', () => {
    const { answer, row, known } = patch({ newGuid: A }, X);
    expect(answer).toEqual({ new_guid: A, guid_changed: now });
    expect(row).toMatchObject({ guid: A, guidChanged: now });
    expect(known.changes().formerGuids).toEqual([]);
  });

  it('may return to an earlier guid', () => {
    const { row, known } = patch({ newGuid: B }, { ...X, guids: [A, B] });
    expect(row).toMatchObject({ guid: B });
    expect(known.changes()).toMatchObject({ formerGuids: [[1, A]], merges: [] });
  });

  it('answers new_feed_url with subscription_changed; the old URL stays a name', () => {
    const { answer, row, known } = patch({ newFeedUrl: w }, X);
    expect(answer).toEqual({ new_feed_url: w, subscription_changed: now });
    expect(row).toMatchObject({ feedUrl: w, subscriptionChanged: now });
    expect(known.byUrl(u)?.id).toBe(1);
  });

  it('stamps a new_feed_url that is the current one', () => {
    expect(patch({ newFeedUrl: u }, X).row).toMatchObject({ feedUrl: u, subscriptionChanged: now });
  });

  it('answers all fields that were sent', () => {
    expect(patch({ newFeedUrl: w, newGuid: D, isSubscribed: false }, X).answer).toEqual({
      new_feed_url: w,
      new_guid: D,
      is_subscribed: false,
      subscription_changed: now,
      guid_changed: now,
    });
  });

  it('takes over a former URL of another subscription, which stays', () => {
    const { known, row, other } = patch({ newFeedUrl: w }, X, Y);
    expect(row).toMatchObject({ feedUrl: w });
    expect(known.byUrl(w)?.id).toBe(1);
    expect(other).toMatchObject({ mergedInto: null, isSubscribed: true, flipped: now });
    expect(known.changes().merges).toEqual([]);
  });
});

describe('PATCH that merges', () => {
  it.each([
    ['the current guid', B],
    ['a former guid', C],
  ])('absorbs the subscription that new_guid names by %s, with all its names', (_, newGuid) => {
    const { known, row, other, answer } = patch({ newGuid }, X, Y);
    expect(answer).toEqual({ new_guid: newGuid, guid_changed: now });
    expect(known.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect([A, B, C].map((name) => known.byGuid(name)?.id)).toEqual([1, 1, 1]);
    expect([u, v, w].map((name) => known.byUrl(name)?.id)).toEqual([1, 1, 1]);
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

  it('absorbs the subscription whose current URL is sent', () => {
    const { known, row } = patch({ newFeedUrl: v }, X, Y);
    expect(known.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect(row).toMatchObject({ feedUrl: v, guid: A, subscriptionChanged: now, guidChanged: null });
  });

  it('absorbs two when both fields name different ones', () => {
    const Z: Described = { id: 3, urls: [w], guids: [D] };
    const { known, row } = patch({ newGuid: B, newFeedUrl: w }, X, { ...Y, urls: [v] }, Z);
    expect(known.changes().merges).toMatchObject([
      { from: 2, into: 1 },
      { from: 3, into: 1 },
    ]);
    expect(row).toMatchObject({ guid: B, feedUrl: w });
    expect([A, B, C, D].map((name) => known.byGuid(name)?.id)).toEqual([1, 1, 1, 1]);
  });

  it('absorbs one once when both fields name the same', () => {
    const { known, row } = patch({ newGuid: C, newFeedUrl: v }, X, Y);
    expect(known.changes().merges).toMatchObject([{ from: 2, into: 1 }]);
    expect(row).toMatchObject({ guid: C, feedUrl: v });
  });

  it('absorbs nothing through its own names', () => {
    const { known } = patch({ newGuid: D, newFeedUrl: w }, { ...X, guids: [A, D], urls: [u, w] });
    expect(known.changes().merges).toEqual([]);
  });

  it('is subscribed if either was, and stamped if that changes it', () => {
    const { row, answer } = patch({ newGuid: B }, { ...X, isSubscribed: false }, Y);
    expect(row).toMatchObject({ isSubscribed: true, subscriptionChanged: now });
    expect(answer).not.toHaveProperty('is_subscribed');
  });

  it('is not stamped as subscribed if it was already', () => {
    expect(patch({ newGuid: B }, X, { ...Y, isSubscribed: false }).row).toMatchObject({
      isSubscribed: true,
      subscriptionChanged: earlier,
    });
  });

  it('is as is_subscribed says when that is sent', () => {
    expect(patch({ newGuid: B, isSubscribed: false }, X, Y).row).toMatchObject({
      isSubscribed: false,
    });
  });

  it('is not subscribed by a tombstone, and no tombstone itself', () => {
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
  const standing: Described = { ...X, subscribedAt: at(10) };

  it('later than what stands applies is_subscribed, and stands from then on', () => {
    const { row, answer } = patch({ isSubscribed: false, timestamp: at(11) }, standing);
    expect(answer).toEqual({ is_subscribed: false, subscription_changed: now });
    expect(row).toMatchObject({ isSubscribed: false, subscribedAt: at(11) });
  });

  it('earlier than what stands applies its other fields, and answers with what stands', () => {
    const { row, answer } = patch({ isSubscribed: false, newGuid: D, timestamp: at(9) }, standing);
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

  it('governs nothing where is_subscribed is not sent', () => {
    const { row } = patch({ newGuid: D, timestamp: at(20) }, standing);
    expect(row).toMatchObject({ guid: D, subscribedAt: at(10) });
  });

  it('does not move the time of a DELETE while its deletion is pending', () => {
    const { row } = patch(
      { isSubscribed: false, timestamp: at(20) },
      { ...standing, deletionId: 7 },
    );
    expect(row).toMatchObject({ isSubscribed: false, subscribedAt: at(10), deletionId: 7 });
  });

  it.each([
    [at(12), at(12)],
    [at(8), at(10)],
  ])('a merge keeps the later time of the two: %s', (subscribedAt, later) => {
    expect(patch({ newGuid: B }, standing, { ...Y, subscribedAt }).row).toMatchObject({
      subscribedAt: later,
    });
  });

  it('a merge ends what is pending for either: no row names a deletion any more', () => {
    const { row, other } = patch(
      { newGuid: B },
      { ...standing, deletionId: 7 },
      { ...Y, deletionId: 8 },
    );
    expect([row?.deletionId, other?.deletionId]).toEqual([null, null]);
  });
});

describe('names that a PATCH brings', () => {
  it('new_feed_url brings its derived guid, unless it is that of another live one', () => {
    expect(patch({ newFeedUrl: w }, X).known.byGuid(podcastGuid(w))?.id).toBe(1);
    const other: Described = { id: 2, urls: [v], guids: [B, podcastGuid(w)] };
    expect(patch({ newFeedUrl: w }, X, other).known.byGuid(podcastGuid(w))?.id).toBe(2);
  });

  it('new_guid is declared unless it is derived from a URL of the subscription', () => {
    const derived: Described = { id: 1, urls: [u], guids: [A], declared: [] };
    expect(patch({ newGuid: D }, derived).row).toMatchObject({ declaredGuids: 1 });
    expect(patch({ newGuid: podcastGuid(u) }, derived).row).toMatchObject({ declaredGuids: 0 });
  });
});

describe('what a quota does not allow', () => {
  const exceeded = (
    left: Partial<Remaining>,
    fields: { newFeedUrl?: string; newGuid?: string; isSubscribed?: boolean },
  ) => {
    const known = worldWith(left, X, Y);
    applyPatch(known, known.byGuid(A) as SubscriptionRow, fields);
    return known.quota.isExceeded;
  };

  it.each<[Partial<Remaining>, { newFeedUrl?: string; newGuid?: string }]>([
    [{ guids: 0 }, { newGuid: D }],
    [{ guidChanges: 0 }, { newGuid: D }],
    [{ urls: 0 }, { newFeedUrl: 'https://new.example' }],
    [{ pointers: 0 }, { newGuid: B }],
    [{ pointers: 0 }, { newFeedUrl: v }],
  ])('is told after the PATCH: %j, %j', (left, fields) => {
    expect(exceeded(left, fields)).toBe(true);
  });

  it('is only what is more than before: what the user has may be changed, and merged', () => {
    const none = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };
    expect(exceeded(none, { newGuid: A, newFeedUrl: w, isSubscribed: false })).toBe(false);
    expect(exceeded({ ...none, pointers: 1, guidChanges: 1 }, { newGuid: B })).toBe(false);
  });
});

describe('new_feed_url that equals a stored URL', () => {
  const pairs = inBothOrders([...equalUrls, ...decodedUrls]);

  it.each(pairs)('changes what is shown and keeps every name: %s, %s', (first, second) => {
    const { known, answer, row } = patch(
      { newFeedUrl: second },
      { id: 1, urls: [first], guids: [A] },
    );
    expect(answer).toEqual({ new_feed_url: second, subscription_changed: now });
    expect(row).toMatchObject({ feedUrl: second, guid: A });
    expect(known.byUrl(first)?.id).toBe(1);
    expect(known.changes()).toMatchObject({ merges: [], formerUrls: [first], added: { urls: 0 } });
  });

  it.each(pairs)('merges the subscription that has it: %s, %s', (first, second) => {
    const { other } = patch({ newFeedUrl: second }, X, { id: 2, urls: [first], guids: [B] });
    expect(other).toMatchObject({ mergedInto: 1 });
  });
});
