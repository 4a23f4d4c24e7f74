import type { Remaining } from './remaining.quota.js';
import { earliestTime, type SubscriptionRow } from './subscription.row.js';

/** The owner of a guid. `sent`: a client ever sent it. `derived`: a URL of the owner yields it. */
export type GuidOwner = [subscriptionId: number, sent: boolean, derived: boolean];

/** The data that a write has read: rows that match its guids and URLs, and ids for new rows. */
export interface Snapshot {
  rows: SubscriptionRow[];
  guids: [guid: string, ...owner: GuidOwner][];
  /** By the lookup key of the URL in hexadecimal. */
  urls: [key: string, subscriptionId: number][];
  newIds: number[];
  remaining: Remaining;
  /** The time of the database, UTC with microseconds. */
  now: string;
}

/** A merge of one subscription into another. `hasStates` is false for a tombstone. */
export interface Merge {
  from: number;
  into: number;
  hasStates: boolean;
}

/** The changes of a write. */
export interface SubscriptionChanges {
  rows: (SubscriptionRow & { changed: string })[];
  guids: [guid: string, ...owner: GuidOwner][];
  /** `url` is null if it is the current one, which the row has, or only its key was read. */
  urls: [key: string, subscriptionId: number, url: string | null][];
  /** URLs that were current before this write. */
  formerUrls: string[];
  /** Guids that were replaced at the write's stamp. */
  formerGuids: [subscriptionId: number, guid: string][];
  /** In order. `survivor` is the last one of a chain of merges. */
  merges: (Merge & { survivor: number })[];
  /** Increments of the counts for quotas; can be negative. */
  added: Remaining;
}

/** Returns true if there is nothing to write. */
export const isEmpty = ({ rows, guids, urls }: SubscriptionChanges) =>
  rows.length + guids.length + urls.length === 0;

/** Returns the stamp of the last change of `isSubscribed`. @param was the stored value. */
export function lastFlipOf(
  row: SubscriptionRow,
  was: boolean,
  isNew: boolean,
  stamp: string,
): string | null {
  if (row.isSubscribed !== was) return stamp;
  return isNew && row.mergedInto === null && row.subscribedAt !== earliestTime
    ? stamp
    : row.flippedAt;
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

/** Returns a URL of a row in the form of {@link SubscriptionChanges}. */
export function urlChange(
  key: string,
  { id, feedUrl }: SubscriptionRow,
  url: string | null,
): SubscriptionChanges['urls'][number] {
  return [key, id, url === feedUrl ? null : url];
}
