import type { EntryFailureCode, Feed } from '#contracts';
import type { SubscriptionSet } from './subscription.set.js';
import { MergeBudget } from './merge.budget.js';
import {
  applyEntry,
  type EntryFailure,
  type ValidatedEntry,
  matchEntry,
  type ValidEntry,
} from './subscribe.rules.js';
import { isLive, earliestTime, type SubscriptionRow } from './subscription.row.js';

/** The validated entries of an upload of the gpodder API. */
export interface ValidatedFeeds {
  add: readonly ValidatedEntry[];
  remove: readonly ValidatedEntry[];
}

/** The subscription of each entry, in their order; undefined for an invalid or rejected entry. */
export interface MatchedFeeds extends Record<'add' | 'remove', (SubscriptionRow | undefined)[]> {
  /** Reasons of the undefined values in `add`, in their order. */
  rejections: EntryFailureCode[];
}

/**
 * Subscribes and unsubscribes feeds (gpodder API). `isSubscribed` and its time stay if the value is
 * already the wanted one, because clients send full lists repeatedly. That also holds for a
 * subscription with a PENDING deletion, which is still subscribed. Returns the subscription of each
 * entry.
 */
export function applyFeeds(
  subscriptions: SubscriptionSet,
  { add, remove }: ValidatedFeeds,
): MatchedFeeds {
  const rejections: EntryFailureCode[] = [];
  const added = add.map((entry) => {
    const outcome = entry.fault ?? subscribeWithTitle(subscriptions, entry);
    if (!('code' in outcome)) return outcome;
    rejections.push(outcome.code);
    return undefined;
  });
  // A subscription that is in both lists, under different URLs, stays subscribed.
  const addedIds = new Set(added.flatMap((row) => (row ? [row.id] : [])));
  const removed = remove.map((entry) =>
    entry.fault ? undefined : live(matchEntry(subscriptions, entry).row),
  );
  for (const row of removed)
    if (row?.isSubscribed && !addedIds.has(row.id)) subscriptions.setSubscribed(row, false);
  return { add: added, remove: removed, rejections };
}

/** Returns the live subscription that an entry matches by URL or derived guid. */
export function findFeed(
  subscriptions: SubscriptionSet,
  entry: ValidatedEntry,
): SubscriptionRow | undefined {
  return entry.fault ? undefined : live(matchEntry(subscriptions, entry).row);
}

function subscribeWithTitle(
  subscriptions: SubscriptionSet,
  { title, ...entry }: ValidEntry,
): SubscriptionRow | EntryFailure {
  const outcome = subscribe(subscriptions, entry);
  if ('code' in outcome) return outcome;
  // These are publishers' titles, sent with each full list. They never replace a listener's title.
  if (outcome.titleAt === null && title !== undefined)
    subscriptions.setTitle(outcome, title, earliestTime);
  return outcome;
}

function subscribe(
  subscriptions: SubscriptionSet,
  entry: ValidEntry,
): SubscriptionRow | EntryFailure {
  const { row, url } = matchEntry(subscriptions, entry);
  if (!row?.isSubscribed) return applyEntry(subscriptions, entry, new MergeBudget());
  // The client has stored this URL, so it must be listed when the subscription is removed.
  if (url !== undefined && subscriptions.quota.allows({ urls: 1 }))
    subscriptions.assignUrl(row, entry.feedUrl);
  return row;
}

const live = (row: SubscriptionRow | undefined) => (isLive(row) ? row : undefined);

/**
 * Returns the URL, guid and first guid of a subscription. The gpodder app stores its data under the
 * first guid, which never changes.
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
