import type { Remaining } from './remaining.quota.js';
import { never, type SubscriptionRow } from './subscription.row.js';

/** The owner of a guid, whether a client ever sent it, and whether an own URL yields it. */
export type GuidName = [subscriptionId: number, sent: boolean, derived: boolean];

/** The data that a write has read: the rows of the request's names, and ids for new rows. */
export interface Snapshot {
  rows: SubscriptionRow[];
  guids: [guid: string, ...name: GuidName][];
  /** By the lookup key of the URL in hexadecimal. */
  urls: [key: string, subscriptionId: number][];
  newIds: number[];
  left: Remaining;
  /** The time of the database, UTC with microseconds. */
  now: string;
}

/** A merge of one subscription into another. A former tombstone has no states. */
export interface Merge {
  from: number;
  into: number;
  hasStates: boolean;
}

/** The changes of a write. */
export interface SubscriptionChanges {
  rows: (SubscriptionRow & { changed: string })[];
  guids: [guid: string, ...name: GuidName][];
  /** Includes the URL itself if it is available and not the current one, which the row has. */
  urls: [key: string, subscriptionId: number, url: string | null][];
  /** URLs that are no longer current, of any subscription. */
  formerUrls: string[];
  /** Replaced at the write's stamp. */
  formerGuids: [subscriptionId: number, guid: string][];
  /** In their order; `survivor` is the subscription that `into` finally became part of. */
  merges: (Merge & { survivor: number })[];
  /** Increments of the counts under quotas, can be negative. */
  added: Remaining;
}

/** Returns whether there is nothing to write. */
export const isNothing = ({ rows, guids, urls }: SubscriptionChanges) =>
  rows.length + guids.length + urls.length === 0;

/** Returns the stamp of a row's last flip. @param was the stored `isSubscribed`. */
export function flippedAt(
  row: SubscriptionRow,
  was: boolean,
  isNew: boolean,
  stamp: string,
): string | null {
  if (row.isSubscribed !== was) return stamp;
  return isNew && row.mergedInto === null && row.subscribedAt !== never ? stamp : row.flipped;
}

/** Returns the later of two optional stamps. */
export function laterOf(one: string | null, other: string | null): string | null {
  return (
    [one, other]
      .filter((stamp) => stamp !== null)
      .toSorted()
      .at(-1) ?? null
  );
}

/** Returns a URL of a row in the form that is written. */
export function urlChange(
  key: string,
  { id, feedUrl }: SubscriptionRow,
  url: string | null,
): SubscriptionChanges['urls'][number] {
  return [key, id, url === feedUrl ? null : url];
}
