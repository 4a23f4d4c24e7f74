import type { RowCounts } from './remaining-quota.js';
import { earliestTime, type SubscriptionRow } from './subscription-row.js';

/**
 * The owner of a guid. `declared`: a client or a feed ever declared the guid. `derived`: the guid
 * is derived from a URL of the owner.
 */
export type GuidEntry = [subscriptionId: number, declared: boolean, derived: boolean];

/**
 * The data that a write reads before it applies the rules: the subscriptions that match its guids
 * and URLs, and ids for new subscriptions.
 */
export interface Snapshot {
  rows: SubscriptionRow[];
  guids: [guid: string, ...entry: GuidEntry][];
  /** The owner of each URL. `key` is the lookup key of the URL in hexadecimal. */
  urls: [key: string, subscriptionId: number][];
  /** Reserved ids for new rows. */
  newIds: number[];
  remaining: RowCounts;
  /** The time of the database, UTC with microseconds. */
  now: string;
}

/** A merge of one subscription into another. `hasStates` is false for a tombstone. */
export interface Merge {
  from: number;
  into: number;
  hasStates: boolean;
}

/** The changes of a write, for the statements that store them. */
export interface SubscriptionChanges {
  rows: (SubscriptionRow & { changed: string })[];
  guids: [guid: string, ...entry: GuidEntry][];
  /** `url` is null if it is the current URL, which the row has, or if only its key was read. */
  urls: [key: string, subscriptionId: number, url: string | null][];
  /** URLs that were current before this write. */
  formerUrls: string[];
  /** Guids that were replaced at the write's stamp. */
  formerGuids: [subscriptionId: number, guid: string][];
  /**
   * The merges in the order in which the rules made them. `survivor` is the row that remains after
   * all merges of the write.
   */
  merges: (Merge & { survivor: number })[];
  /** Increments of the counts for quotas; can be negative. */
  added: RowCounts;
}

/** Returns true if the write changes nothing. */
export const isEmpty = ({ rows, guids, urls }: SubscriptionChanges) =>
  rows.length + guids.length + urls.length === 0;

/**
 * Returns the stamp of the last change of `isSubscribed`; null if it never was true.
 *
 * @param wasSubscribed the value of `isSubscribed` before the write, false for a new row.
 * @param isNew true for a row that this write creates.
 * @param stamp the stamp of this write.
 */
export function lastChangeOfIsSubscribed(
  row: SubscriptionRow,
  wasSubscribed: boolean,
  isNew: boolean,
  stamp: string,
): string | null {
  if (row.isSubscribed !== wasSubscribed) return stamp;
  return isNew && row.mergedInto === null && row.subscribedAt !== earliestTime
    ? stamp
    : row.flippedAt;
}

/** Returns the later of two stamps; null counts as earlier than any stamp. */
export function laterOf(one: string | null, other: string | null): string | null {
  return (
    [one, other]
      .filter((stamp) => stamp !== null)
      .toSorted()
      .at(-1) ?? null
  );
}

/** Returns the item of {@link SubscriptionChanges.urls} for a URL of a row. */
export function urlChange(
  key: string,
  { id, feedUrl }: SubscriptionRow,
  url: string | null,
): SubscriptionChanges['urls'][number] {
  return [key, id, url === feedUrl ? null : url];
}
