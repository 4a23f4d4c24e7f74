import { urlKey } from '#contracts';

/** A subscription, or with `deleted` a tombstone. Times are stamps, except `subscribedAt`. */
export interface SubscriptionRow {
  id: number;
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  /** Time of the last change of `isSubscribed` (UTC with microseconds), or of a later DELETE. */
  subscribedAt: string;
  subscriptionChanged: string;
  /** Stamp of the last flip of `isSubscribed`, for clients that list feeds by URL; null: never. */
  flipped: string | null;
  guidChanged: string | null;
  /** Number of its guids that a client sent and that are not derived from one of its URLs. */
  declaredGuids: number;
  /** The PENDING deletion of it. */
  deletionId: number | null;
  deleted: string | null;
  mergedInto: number | null;
  mergedAt: string | null;
  /** The listener's own title. */
  title: string | null;
  /** Time of the last change of `title` (UTC with microseconds); null: never. */
  titleAt: string | null;
  /** True for a tombstone whose feedUrl a live subscription took. */
  hasLostUrl: boolean;
}

/** The time of a state without a user's choice: earlier than any other. */
export const never = '1970-01-01T00:00:00.000000Z';

/** Returns the row of a subscription that was never subscribed. */
export function blankRow(
  id: number,
  feedUrl: string,
  guid: string,
  stamp: string,
): SubscriptionRow {
  return {
    id,
    feedUrl,
    guid,
    isSubscribed: false,
    subscribedAt: never,
    subscriptionChanged: stamp,
    flipped: null,
    guidChanged: null,
    declaredGuids: 0,
    deletionId: null,
    deleted: null,
    mergedInto: null,
    mergedAt: null,
    title: null,
    titleAt: null,
    hasLostUrl: false,
  };
}

/** Returns whether a subscription exists and is not deleted; a PENDING deletion does not count. */
export function isLive(row: SubscriptionRow | undefined): row is SubscriptionRow {
  return row?.deleted === null;
}

/** Returns whether it is subscribed without a PENDING deletion. */
export function isStillSubscribed(row: SubscriptionRow): boolean {
  return row.isSubscribed && row.deletionId === null;
}

/** Adds the stamp that `since` is compared with (GET /subscriptions). Stamps compare as texts. */
export function withChanged(row: SubscriptionRow): SubscriptionRow & { changed: string } {
  if (row.mergedAt !== null) return { ...row, changed: row.mergedAt };
  const changed = [row.guidChanged, row.deleted, row.flipped].reduce<string>(
    (latest, stamp) => (stamp !== null && stamp > latest ? stamp : latest),
    row.subscriptionChanged,
  );
  return { ...row, changed };
}

/** Cache of the keys of URLs: rules look up the same URL repeatedly, and each is hashed once. */
export class UrlKeys {
  private readonly keys = new Map<string, string>();
  private readonly urls = new Map<string, string>();

  keyOf(feedUrl: string): string {
    const key = this.keys.get(feedUrl) ?? urlKey(feedUrl);
    this.keys.set(feedUrl, key);
    if (!this.urls.has(key)) this.urls.set(key, feedUrl);
    return key;
  }

  /** Returns the first URL that was looked up by a key. */
  urlOf(key: string): string | null {
    return this.urls.get(key) ?? null;
  }
}
