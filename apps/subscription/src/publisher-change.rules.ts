import type { FeedChangeOutcome, RequestOf, applyFeed } from '#contracts';
import type { SubscriptionSet } from './subscription-set.js';
import type { MergeBudget } from './merge-budget.js';
import { isLive, type SubscriptionRow } from './subscription-row.js';

type PublisherChange = Omit<RequestOf<typeof applyFeed>, 'userId'>;

/**
 * Applies the new URL and the guid that the publisher of a feed declares
 * (docs/reference/interface-feeds.md, "Moves and guids"). `is_subscribed` is not changed.
 *
 * - Nothing changes unless the user is subscribed and `fromUrl` is the current URL.
 * - Another live subscription with the new URL as its current one is merged, within the limits of a
 *   POST. If it has a declared guid, the result is `taken` and nothing changes.
 * - The guid is applied only to a subscription without a declared guid, and only if no other
 *   subscription has that guid. Above a quota, the guid is ignored.
 * - The result is `limit`, and nothing changes, if the move or its merge exceeds a limit.
 */
export function applyFeedChange(
  subscriptions: SubscriptionSet,
  { fromUrl, toUrl, guid }: PublisherChange,
  budget: MergeBudget,
): FeedChangeOutcome {
  const row = subscriptions.byUrl(fromUrl);
  if (!row || !isLive(row) || !row.isSubscribed || row.feedUrl !== fromUrl) return 'unchanged';
  const moveOutcome =
    toUrl === undefined ? 'unchanged' : applyMove(subscriptions, row, toUrl, budget);
  if (moveOutcome === 'taken' || moveOutcome === 'limit') return moveOutcome;
  const isGuidApplied = guid !== undefined && applyDeclaredGuid(subscriptions, row, guid);
  return isGuidApplied ? 'applied' : moveOutcome;
}

function applyMove(
  subscriptions: SubscriptionSet,
  row: SubscriptionRow,
  toUrl: string,
  budget: MergeBudget,
): FeedChangeOutcome {
  const currentUrlOwner = subscriptions.byCurrentUrl(toUrl);
  const mergedRow =
    isLive(currentUrlOwner) && currentUrlOwner !== row ? currentUrlOwner : undefined;
  if (mergedRow && mergedRow.declaredGuids > 0) return 'taken';
  const addedRows = { urls: subscriptions.byUrl(toUrl) ? 0 : 1, pointers: mergedRow ? 1 : 0 };
  if (!subscriptions.quota.allows(addedRows) || (mergedRow && !budget.countMerge(mergedRow, row)))
    return 'limit';
  if (mergedRow) subscriptions.merge(mergedRow, row);
  subscriptions.setCurrentUrl(row, toUrl);
  return 'applied';
}

function applyDeclaredGuid(
  subscriptions: SubscriptionSet,
  row: SubscriptionRow,
  guid: string,
): boolean {
  if (row.declaredGuids > 0 || row.guid === guid) return false;
  const guidOwner = subscriptions.byGuid(guid);
  if (guidOwner && guidOwner !== row) return false;
  const guidChanges = subscriptions.addsFormerGuid(row, guid) ? 1 : 0;
  if (!subscriptions.quota.allows({ guids: guidOwner ? 0 : 1, guidChanges })) return false;
  subscriptions.changeGuid(row, guid);
  return true;
}
