import type { RequestOf, Updated, updateSubscription } from '#contracts';
import type { KnownSubscriptions, SubscriptionRow } from './known-subscriptions.js';

type Patch = Omit<RequestOf<typeof updateSubscription>, 'userId' | 'guid'>;

/**
 * Applies a PATCH to a live subscription (docs/interface.md, "PATCH" and "Merging"). A guid of another subscription, or
 * another's current URL, merges that one into it first. Whatever was sent is stamped, also when its value is the same.
 */
export function applyPatch(known: KnownSubscriptions, row: SubscriptionRow, patch: Patch, stamp: string): Updated {
  const { newFeedUrl, newGuid, isSubscribed } = patch;
  const wasSubscribed = row.isSubscribed;
  if (newGuid !== undefined) absorb(known, row, known.byGuid(newGuid));
  if (newFeedUrl !== undefined) {
    const owner = known.byUrl(newFeedUrl);
    if (owner?.feedUrl === newFeedUrl) absorb(known, row, owner);
    known.moveTo(row, newFeedUrl);
  }
  if (newGuid !== undefined) known.changeGuid(row, newGuid);
  if (isSubscribed !== undefined) known.setSubscribed(row, isSubscribed);
  else if (row.isSubscribed !== wasSubscribed) known.setSubscribed(row, row.isSubscribed);
  return {
    ...(newFeedUrl !== undefined && { new_feed_url: newFeedUrl }),
    ...(isSubscribed !== undefined && { is_subscribed: isSubscribed }),
    ...((newFeedUrl !== undefined || isSubscribed !== undefined) && { subscription_changed: stamp }),
    ...(newGuid !== undefined && { new_guid: newGuid, guid_changed: stamp }),
  };
}

/** Merges another subscription into the one in the path, which is subscribed afterwards if either was. */
function absorb(known: KnownSubscriptions, row: SubscriptionRow, other: SubscriptionRow | undefined): void {
  if (!other || other === row) return;
  known.merge(other, row);
  if (other.isSubscribed) row.isSubscribed = true;
}
