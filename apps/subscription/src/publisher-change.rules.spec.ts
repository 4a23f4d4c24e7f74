import { describe, expect, it } from 'vitest';
import { podcastGuid } from '#contracts';
import {
  A,
  B,
  changedRow,
  D,
  type SubscriptionFixture,
  earlier,
  subscriptionSet,
  subscriptionSetWithQuotas,
  now,
  u as from,
  v as to,
  w as old,
} from '../testing/subscription-set.fixture.js';
import { applyFeedChange } from './publisher-change.rules.js';
import { MergeBudget } from './merge-budget.js';

/** A subscription without a declared guid. */
const plain: SubscriptionFixture = {
  id: 1,
  urls: [from],
  guids: [podcastGuid(from)],
  declared: [],
};
const other: SubscriptionFixture = { id: 2, urls: [to], guids: [podcastGuid(to)], declared: [] };

function apply(change: { toUrl?: string; guid?: string }, ...described: SubscriptionFixture[]) {
  const subscriptions = subscriptionSet(...described);
  const outcome = applyFeedChange(subscriptions, { fromUrl: from, ...change }, new MergeBudget());
  return {
    outcome,
    subscriptions,
    row: changedRow(subscriptions, 1),
    other: changedRow(subscriptions, 2),
  };
}

describe('a move', () => {
  it('changes the URL, and neither is_subscribed nor its time', () => {
    const { outcome, row, subscriptions } = apply(
      { toUrl: to },
      { ...plain, subscribedAt: earlier },
    );
    expect(outcome).toBe('applied');
    expect(row).toMatchObject({
      feedUrl: to,
      subscriptionChanged: now,
      isSubscribed: true,
      subscribedAt: earlier,
    });
    expect(subscriptions.byUrl(from)?.id).toBe(1);
  });

  it.each<[string, SubscriptionFixture]>([
    ['the user has moved', { ...plain, urls: [old, from] }],
    ['the user has unsubscribed', { ...plain, isSubscribed: false }],
    ['it is deleted', { ...plain, isSubscribed: false, deleted: earlier }],
    ['the user has another form of the URL', { ...plain, urls: ['https://U.example/feed'] }],
  ])('changes nothing where %s', (_, described) => {
    const { outcome, subscriptions } = apply({ toUrl: to, guid: D }, described);
    expect([outcome, subscriptions.changes().rows]).toEqual(['unchanged', []]);
  });

  it('merges another subscription with the URL if it has no declared guid', () => {
    const merged = apply({ toUrl: to }, plain, other);
    expect(merged.outcome).toBe('applied');
    expect(merged.other).toMatchObject({ mergedInto: 1 });
    const taken = apply({ toUrl: to }, plain, { id: 2, urls: [to], guids: [B] });
    expect([taken.outcome, taken.subscriptions.changes().rows]).toEqual(['taken', []]);
  });

  it('takes the URL of a tombstone', () => {
    const tombstone = { ...other, isSubscribed: false, deleted: earlier };
    expect(apply({ toUrl: to }, plain, tombstone)).toMatchObject({
      outcome: 'applied',
      row: { feedUrl: to },
    });
  });

  it.each([
    [{ urls: 0 }, [plain]],
    [{ pointers: 0 }, [plain, other]],
  ])('respects quotas: %j', (left, described) => {
    const subscriptions = subscriptionSetWithQuotas(left, ...described);
    const outcome = applyFeedChange(subscriptions, { fromUrl: from, toUrl: to }, new MergeBudget());
    expect([outcome, subscriptions.changes().rows]).toEqual(['limit', []]);
  });
});

describe('a declared guid', () => {
  it('becomes the current guid if the subscription has no declared guid', () => {
    const { outcome, row, subscriptions } = apply({ guid: D }, plain);
    expect(outcome).toBe('applied');
    expect(row).toMatchObject({ guid: D, guidChanged: now, declaredGuids: 1 });
    expect(subscriptions.byGuid(podcastGuid(from))?.id).toBe(1);
  });

  it.each<[string, SubscriptionFixture[]]>([
    ['another guid was declared', [{ id: 1, urls: [from], guids: [A] }]],
    ['another subscription has it', [plain, { id: 2, urls: [to], guids: [D] }]],
  ])('changes nothing where %s', (_, described) => {
    const { outcome, subscriptions } = apply({ guid: D }, ...described);
    expect([outcome, subscriptions.changes().rows]).toEqual(['unchanged', []]);
  });

  it('is applied together with a move', () => {
    expect(apply({ toUrl: to, guid: D }, plain).row).toMatchObject({ feedUrl: to, guid: D });
  });
});
