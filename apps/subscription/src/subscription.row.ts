import { urlKey } from '#contracts';

/**
 * A subscription, or with `deleted` a tombstone. Times are stamps, except `subscribedAt` and
 * `titleAt`.
 */
export interface SubscriptionRow {
  id: number;
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  /**
   * Time of the last accepted subscribe, unsubscribe or DELETE, even if the value stayed the same.
   * The client's timestamp if sent, else the server's time (UTC, microseconds).
   */
  subscribedAt: string;
  subscriptionChanged: string;
  /** Stamp at which `isSubscribed` last changed, for the gpodder API. Null if it never was true. */
  flippedAt: string | null;
  guidChanged: string | null;
  /** Number of its declared guids: sent by a client or its feed, and derived from no URL of it. */
  declaredGuids: number;
  /** The id of its PENDING deletion. */
  deletionId: number | null;
  deleted: string | null;
  mergedInto: number | null;
  mergedAt: string | null;
  /** The listener's own title. */
  title: string | null;
  /** Time of the last accepted title (UTC, microseconds). Null before the first one. */
  titleAt: string | null;
  /** True for a tombstone whose current URL now belongs to another subscription. */
  hasLostUrl: boolean;
}

/** The time of a value that the user never set. Every other time wins against it. */
export const earliestTime = '1970-01-01T00:00:00.000000Z';

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
    subscribedAt: earliestTime,
    subscriptionChanged: stamp,
    flippedAt: null,
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

/** Returns true if a subscription exists and is no tombstone. It can have a PENDING deletion. */
export function isLive(row: SubscriptionRow | undefined): row is SubscriptionRow {
  return row?.deleted === null;
}

/** Returns true if it is subscribed and has no PENDING deletion. */
export function isStillSubscribed(row: SubscriptionRow): boolean {
  return row.isSubscribed && row.deletionId === null;
}

/** Adds `changed`, the stamp that GET /subscriptions compares with `since`: the latest of all. */
export function withChanged(row: SubscriptionRow): SubscriptionRow & { changed: string } {
  if (row.mergedAt !== null) return { ...row, changed: row.mergedAt };
  // Stamps compare as texts.
  const changed = [row.guidChanged, row.deleted, row.flippedAt].reduce<string>(
    (latest, stamp) => (stamp !== null && stamp > latest ? stamp : latest),
    row.subscriptionChanged,
  );
  return { ...row, changed };
}

/** Caches the lookup keys of URLs, because the rules need the key of a URL repeatedly. */
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
