import type { AppliedFeed, RequestOf, applyFeed } from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import type { MergeBudget } from './merge.budget.js';
import { isLive, type SubscriptionRow } from './subscription.row.js';

type Change = Omit<RequestOf<typeof applyFeed>, 'userId'>;

/**
 * Applies what the publisher of a feed declares: a new URL, and a guid, by the rules of PATCH
 * (docs/reference/interface-feeds.md, "Moves and guids"). `is_subscribed` and its time stay.
 *
 * - Nothing changes if the feed is not the current one of a subscribed subscription any more.
 * - A live subscription with the new URL is merged only if it has no declared guid, within the
 *   limits of a POST.
 * - A guid is applied only without a declared one, and if no other live subscription has it.
 */
export function applyFeedChange(
  known: KnownSubscriptions,
  { fromUrl, toUrl, guid }: Change,
  budget: MergeBudget,
): AppliedFeed {
  const row = known.byUrl(fromUrl);
  if (!row || !isLive(row) || !row.isSubscribed || row.feedUrl !== fromUrl) return 'unchanged';
  const moved = toUrl === undefined ? 'unchanged' : move(known, row, toUrl, budget);
  if (moved === 'taken' || moved === 'limit') return moved;
  const isNamed = guid !== undefined && name(known, row, guid);
  return isNamed ? 'applied' : moved;
}

function move(
  known: KnownSubscriptions,
  row: SubscriptionRow,
  toUrl: string,
  budget: MergeBudget,
): AppliedFeed {
  const owner = known.byUrl(toUrl);
  const other =
    isLive(owner) && owner !== row && known.isCurrentUrl(owner, toUrl) ? owner : undefined;
  if (other && other.declaredGuids > 0) return 'taken';
  const needed = { urls: owner ? 0 : 1, pointers: other ? 1 : 0 };
  if (!known.quota.allows(needed) || (other && !budget.take(other, row))) return 'limit';
  if (other) known.merge(other, row);
  known.moveTo(row, toUrl);
  return 'applied';
}

function name(known: KnownSubscriptions, row: SubscriptionRow, guid: string): boolean {
  if (row.declaredGuids > 0 || row.guid === guid) return false;
  const owner = known.byGuid(guid);
  if (owner && owner !== row) return false;
  const changes = known.wouldReplace(row, guid) ? 1 : 0;
  if (!known.quota.allows({ guids: owner ? 0 : 1, guidChanges: changes })) return false;
  known.changeGuid(row, guid);
  return true;
}
