import { storedTitle, type RequestOf, type Updated, type updateSubscription } from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import type { SubscriptionRow } from './subscription.row.js';

type Patch = Omit<RequestOf<typeof updateSubscription>, 'userId' | 'guid'>;

/**
 * Applies a PATCH to a live subscription (docs/reference/subscriptions.md, "PATCH" and "Merging").
 * First merges into `row` any other subscription that has the new guid, or the new URL as its
 * current URL. A guid, a URL and an applied `isSubscribed` get a new stamp even if equal, a title
 * only if it differs. Outdated values change nothing; the answer has the current ones.
 */
export function applyPatch(known: KnownSubscriptions, row: SubscriptionRow, patch: Patch): Updated {
  const { newFeedUrl, newGuid, isSubscribed, timestamp, title } = patch;
  const wasSubscribed = row.isSubscribed;
  if (newGuid !== undefined) absorb(known, row, known.byGuid(newGuid));
  if (newFeedUrl !== undefined) absorb(known, row, known.byCurrentUrl(newFeedUrl));
  if (newGuid !== undefined) known.changeGuid(row, newGuid);
  if (newFeedUrl !== undefined) known.moveTo(row, newFeedUrl);
  const isMerged = row.isSubscribed !== wasSubscribed;
  if (isSubscribed !== undefined && !known.isSuperseded(row, isSubscribed, timestamp))
    known.setSubscribed(row, isSubscribed, timestamp);
  else if (isMerged) known.stampSubscription(row);
  if (title !== undefined) known.setTitle(row, storedTitle(title), timestamp);
  const { subscriptionChanged, guidChanged } = row;
  const isStamped = [newFeedUrl, isSubscribed, title].some((value) => value !== undefined);
  return {
    ...(newFeedUrl !== undefined && { new_feed_url: newFeedUrl }),
    ...(isSubscribed !== undefined && { is_subscribed: row.isSubscribed }),
    ...(isStamped && { subscription_changed: subscriptionChanged }),
    ...(newGuid !== undefined && { new_guid: newGuid, guid_changed: guidChanged as string }),
    ...(title !== undefined && { title: row.title ?? '' }),
  };
}

/** Merges another subscription into the row, which is then subscribed if either was. */
function absorb(
  known: KnownSubscriptions,
  row: SubscriptionRow,
  other: SubscriptionRow | undefined,
): void {
  if (!other || other === row) return;
  known.merge(other, row);
  if (other.isSubscribed) row.isSubscribed = true;
}
