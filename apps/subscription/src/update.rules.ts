import {
  storedTitle,
  type RequestOf,
  type UpdateAnswer,
  type updateSubscription,
} from '#contracts';
import type { SubscriptionSet } from './subscription-set.js';
import type { SubscriptionRow } from './subscription-row.js';

type SubscriptionPatch = Omit<RequestOf<typeof updateSubscription>, 'userId' | 'guid'>;

/**
 * Applies a PATCH to a live subscription (docs/reference/subscriptions.md, "PATCH" and "Merging").
 * - It first merges into `row` any other subscription that has the new guid, or has the new URL as
 *   its current URL.
 * - A new guid, a new URL and `isSubscribed` get the stamp of the write even if they equal the
 *   current value. A title gets the stamp only if it differs from the current title.
 * - An `isSubscribed` or title whose `timestamp` is older than that of the current value is
 *   ignored. The answer has the current value.
 */
export function applyPatch(
  subscriptions: SubscriptionSet,
  row: SubscriptionRow,
  patch: SubscriptionPatch,
): UpdateAnswer {
  const { newFeedUrl, newGuid, isSubscribed, timestamp, title } = patch;
  const wasSubscribed = row.isSubscribed;
  if (newGuid !== undefined) mergeIfOther(subscriptions, row, subscriptions.byGuid(newGuid));
  if (newFeedUrl !== undefined)
    mergeIfOther(subscriptions, row, subscriptions.byCurrentUrl(newFeedUrl));
  if (newGuid !== undefined) subscriptions.changeGuid(row, newGuid);
  if (newFeedUrl !== undefined) subscriptions.setCurrentUrl(row, newFeedUrl);
  const isSubscribedByMerge = row.isSubscribed !== wasSubscribed;
  if (isSubscribed !== undefined && !subscriptions.isSuperseded(row, isSubscribed, timestamp))
    subscriptions.setSubscribed(row, isSubscribed, timestamp);
  else if (isSubscribedByMerge) subscriptions.stampSubscription(row);
  if (title !== undefined) subscriptions.setTitle(row, storedTitle(title), timestamp);
  const { subscriptionChanged, guidChanged } = row;
  const showsStamp = [newFeedUrl, isSubscribed, title].some((value) => value !== undefined);
  return {
    ...(newFeedUrl !== undefined && { new_feed_url: newFeedUrl }),
    ...(isSubscribed !== undefined && { is_subscribed: row.isSubscribed }),
    ...(showsStamp && { subscription_changed: subscriptionChanged }),
    ...(newGuid !== undefined && { new_guid: newGuid, guid_changed: guidChanged as string }),
    ...(title !== undefined && { title: row.title ?? '' }),
  };
}

/**
 * Merges `other` into the row, unless both are the same row or `other` is undefined. The row is
 * subscribed afterwards if either row was subscribed.
 */
function mergeIfOther(
  subscriptions: SubscriptionSet,
  row: SubscriptionRow,
  other: SubscriptionRow | undefined,
): void {
  if (!other || other === row) return;
  subscriptions.merge(other, row);
  if (other.isSubscribed) row.isSubscribed = true;
}
