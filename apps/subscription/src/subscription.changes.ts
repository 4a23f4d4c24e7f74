import type { Remaining } from './remaining.quota.js';
import { never, type SubscriptionRow } from './subscription.row.js';

/** Which subscription a guid names, whether a client ever sent it, and whether it is derived from one of its URLs. */
export type GuidName = [subscriptionId: number, sent: boolean, derived: boolean];

/** What a write has read: every row that a guid or URL of the request names, and ids for new rows. */
export interface Loaded {
  rows: SubscriptionRow[];
  guids: [guid: string, ...name: GuidName][];
  /** By the SHA-256 of the URL in hexadecimal. */
  urls: [urlSha256: string, subscriptionId: number][];
  newIds: number[];
  /** What remains of the quotas. */
  left: Remaining;
  /** The time of the database, UTC with microseconds. */
  now: string;
}

/** One subscription that becomes part of another; one that was a tombstone has no states. */
export interface Merge {
  from: number;
  into: number;
  hasStates: boolean;
}

/** What a write changes. */
export interface Changes {
  rows: (SubscriptionRow & { changed: string })[];
  guids: [guid: string, ...name: GuidName][];
  /** With the URL itself where it is known and not the current one, which the row has. */
  urls: [urlSha256: string, subscriptionId: number, url: string | null][];
  /** Those that are not current any more, wherever they belong. */
  formerUrls: string[];
  /** Replaced at the write's stamp. */
  formerGuids: [subscriptionId: number, guid: string][];
  /** In their order; `survivor` is what `into` has become part of in the end. */
  merges: (Merge & { survivor: number })[];
  /** How many more the user has of what quotas bound, or fewer. */
  added: Remaining;
}

/** Whether there is nothing to write. */
export const isNothing = ({ rows, guids, urls }: Changes) => rows.length + guids.length + urls.length === 0;

/** When a row was last subscribed or unsubscribed, that was (or was not) subscribed as it was read. */
export function flippedAt(row: SubscriptionRow, was: boolean, isNew: boolean, stamp: string): string | null {
  if (row.isSubscribed !== was) return stamp;
  return isNew && row.mergedInto === null && row.subscribedAt !== never ? stamp : row.flipped;
}

/** The later one of two stamps that there may be. */
export function laterOf(one: string | null, other: string | null): string | null {
  return (
    [one, other]
      .filter((stamp) => stamp !== null)
      .toSorted()
      .at(-1) ?? null
  );
}

/** A URL of a row, as it is written. */
export function urlChange(key: string, { id, feedUrl }: SubscriptionRow, url: string | null): Changes['urls'][number] {
  return [key, id, url === feedUrl ? null : url];
}
