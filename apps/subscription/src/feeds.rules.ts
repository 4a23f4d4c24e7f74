import type { EntryFailureCode, Feed } from '#contracts';
import type { SubscriptionSet } from './subscription-set.js';
import { MergeBudget } from './merge-budget.js';
import {
  applyEntry,
  type EntryFailure,
  type ValidatedEntry,
  matchEntry,
  type ValidEntry,
} from './subscribe.rules.js';
import { isLive, earliestTime, type SubscriptionRow } from './subscription-row.js';

/** The validated entries of an upload of the gpodder API. */
export interface ValidatedFeeds {
  add: readonly ValidatedEntry[];
  remove: readonly ValidatedEntry[];
}

/**
 * The subscription of each entry, in the order of the entries. Undefined for a rejected entry of
 * `add`, and for an entry of `remove` that matches no live subscription.
 */
export interface MatchedFeeds extends Record<'add' | 'remove', (SubscriptionRow | undefined)[]> {
  /** The failure codes of the rejected entries of `add`, in the order of the entries. */
  rejections: EntryFailureCode[];
}

/**
 * Subscribes and unsubscribes feeds (gpodder API), and returns the subscription of each entry.
 * Clients send full lists repeatedly: an entry that requests the current value of `isSubscribed`
 * changes neither the value nor its time. Such an entry does not cancel a PENDING deletion, because
 * the subscription is still subscribed.
 */
export function applyFeeds(
  subscriptions: SubscriptionSet,
  { add, remove }: ValidatedFeeds,
): MatchedFeeds {
  const rejections: EntryFailureCode[] = [];
  const addedRows = add.map((entry) => {
    const outcome = entry.fault ?? subscribeWithTitle(subscriptions, entry);
    if (!('code' in outcome)) return outcome;
    rejections.push(outcome.code);
    return undefined;
  });
  // A subscription that is in both lists, under different URLs, stays subscribed.
  const addedIds = new Set(addedRows.flatMap((row) => (row ? [row.id] : [])));
  const removedRows = remove.map((entry) =>
    entry.fault ? undefined : selectLive(matchEntry(subscriptions, entry).row),
  );
  for (const row of removedRows)
    if (row?.isSubscribed && !addedIds.has(row.id)) subscriptions.setSubscribed(row, false);
  return { add: addedRows, remove: removedRows, rejections };
}

/** Returns the live subscription that an entry matches by URL or derived guid. */
export function findFeed(
  subscriptions: SubscriptionSet,
  entry: ValidatedEntry,
): SubscriptionRow | undefined {
  return entry.fault ? undefined : selectLive(matchEntry(subscriptions, entry).row);
}

function subscribeWithTitle(
  subscriptions: SubscriptionSet,
  { title, ...entry }: ValidEntry,
): SubscriptionRow | EntryFailure {
  const outcome = subscribeEntry(subscriptions, entry);
  if ('code' in outcome) return outcome;
  // gpodder clients send the publishers' titles with each full list. Such a title never replaces
  // the listener's own title.
  if (outcome.titleAt === null && title !== undefined)
    subscriptions.setTitle(outcome, title, earliestTime);
  return outcome;
}

function subscribeEntry(
  subscriptions: SubscriptionSet,
  entry: ValidEntry,
): SubscriptionRow | EntryFailure {
  const { row, url } = matchEntry(subscriptions, entry);
  if (!row?.isSubscribed) return applyEntry(subscriptions, entry, new MergeBudget());
  // The client has stored the sent URL. A removed subscription is listed with its aliases, so that
  // the client then removes this URL.
  if (url !== undefined && subscriptions.quota.allows({ urls: 1 }))
    subscriptions.assignUrl(row, entry.feedUrl);
  return row;
}

const selectLive = (row: SubscriptionRow | undefined) => (isLive(row) ? row : undefined);

/**
 * Returns the URL, guid and first guid of a subscription; null without a row. `apps/gpodder` stores
 * its data under the first guid, because the first guid never changes.
 *
 * @param firstGuids first guids by row id, for the rows whose guid has changed.
 */
export function toFeed(
  row: SubscriptionRow | undefined,
  firstGuids: ReadonlyMap<number, string>,
): Feed | null {
  if (!row) return null;
  const { id, feedUrl, guid } = row;
  const firstGuid = firstGuids.get(id) ?? guid;
  return { feedUrl, guid, ...(firstGuid !== guid && { firstGuid }) };
}
