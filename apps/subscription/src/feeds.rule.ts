import type { Feed } from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import { MergeBudget } from './merge.budget.js';
import { applyEntry, type JudgedEntry, meaningOf, type UsableEntry } from './subscribe.rule.js';
import { isLive, type SubscriptionRow } from './subscription.row.js';

/** What a client of the gpodder API asks for, by feed URLs alone. */
export interface AskedFeeds {
  add: readonly JudgedEntry[];
  remove: readonly JudgedEntry[];
}

/** The subscription that each means. */
export type MeantFeeds = Record<'add' | 'remove', (SubscriptionRow | undefined)[]>;

/**
 * Subscribes and unsubscribes (gpodder API). Only what changes something is one: clients send whole lists again and
 * again. One whose deletion is PENDING is subscribed until that is carried out, so it is not asked for here.
 */
export function applyFeeds(known: KnownSubscriptions, { add, remove }: AskedFeeds): MeantFeeds {
  const added = add.map((entry) => (entry.fault ? undefined : subscribe(known, entry)));
  // What is in both, by different URLs, is subscribed.
  const kept = new Set(added.flatMap((row) => (row ? [row.id] : [])));
  const removed = remove.map((entry) => (entry.fault ? undefined : live(meaningOf(known, entry).row)));
  for (const row of removed) if (row?.isSubscribed && !kept.has(row.id)) known.setSubscribed(row, false);
  return { add: added, remove: removed };
}

/** The subscription that a URL means, a deleted one aside. */
export function findFeed(known: KnownSubscriptions, entry: JudgedEntry): SubscriptionRow | undefined {
  return entry.fault ? undefined : live(meaningOf(known, entry).row);
}

function subscribe(known: KnownSubscriptions, entry: UsableEntry): SubscriptionRow | undefined {
  const { row, url } = meaningOf(known, entry);
  if (!row?.isSubscribed) {
    const outcome = applyEntry(known, entry, new MergeBudget());
    return 'code' in outcome ? undefined : outcome;
  }
  // The client knows it by this URL, and is to be told by this URL when it is unsubscribed.
  if (url !== undefined && known.quota.allows({ urls: 1 })) known.nameUrl(row, entry.feedUrl);
  return row;
}

const live = (row: SubscriptionRow | undefined) => (isLive(row) ? row : undefined);

/** As clients' data are kept by it. @param first the guids that some had first, by their ids. */
export function toFeed(row: SubscriptionRow | undefined, first: ReadonlyMap<number, string>): Feed | null {
  if (!row) return null;
  const { id, feedUrl, guid } = row;
  const firstGuid = first.get(id) ?? guid;
  return { feedUrl, guid, ...(firstGuid !== guid && { firstGuid }) };
}
