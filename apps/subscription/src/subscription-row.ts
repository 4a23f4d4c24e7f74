import { urlKey } from '#contracts';

/**
 * A subscription; a tombstone if `deleted` is set, a pointer if `mergedInto` is set. Times are
 * values of the user's clock (stamps), except `subscribedAt` and `titleAt`, which clients can send.
 */
export interface SubscriptionRow {
  id: number;
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  /**
   * Time of the last accepted subscribe, unsubscribe or DELETE, even if `isSubscribed` stayed the
   * same. It is the client's timestamp if sent, else the server's time (UTC, microseconds).
   */
  subscribedAt: string;
  /** Stamp at which the URL, `isSubscribed` or the title last changed. */
  subscriptionChanged: string;
  /** Stamp at which `isSubscribed` last changed, for the gpodder API. Null if it never was true. */
  flippedAt: string | null;
  /** Stamp of the last change of the current guid; null before the first change. */
  guidChanged: string | null;
  /**
   * Number of declared guids of the subscription: those that a client or the feed sent and that are
   * not derived from a URL of the subscription.
   */
  declaredGuids: number;
  /** The id of the PENDING deletion of the subscription; null without one. */
  deletionId: number | null;
  /** Stamp of the deletion that made the row a tombstone; null unless it is a tombstone. */
  deleted: string | null;
  /** The id of the subscription into which this one was merged; null unless it is a pointer. */
  mergedInto: number | null;
  /** Stamp of the merge into `mergedInto`; null unless the row is a pointer. */
  mergedAt: string | null;
  /** The title that the user gave the subscription, or null. */
  title: string | null;
  /** Time of the last accepted title (UTC, microseconds). Null before the first one. */
  titleAt: string | null;
  /** True for a tombstone whose current URL now belongs to another subscription. */
  hasLostUrl: boolean;
}

/** The time of a value that the user never set. Every change by the user is later, and so wins. */
export const earliestTime = '1970-01-01T00:00:00.000000Z';

/** Returns a new row, not yet subscribed. */
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

/**
 * Returns true if the row exists and is not a tombstone. A live row can have a PENDING deletion, or
 * be a pointer.
 */
export function isLive(row: SubscriptionRow | undefined): row is SubscriptionRow {
  return row?.deleted === null;
}

/** Returns true if the row is subscribed and has no PENDING deletion. */
export function isStillSubscribed(row: SubscriptionRow): boolean {
  return row.isSubscribed && row.deletionId === null;
}

/**
 * Adds `changed`, the stamp that GET /subscriptions compares with `since`: the latest stamp of the
 * row, or `mergedAt` for a pointer.
 */
export function withChanged(row: SubscriptionRow): SubscriptionRow & { changed: string } {
  if (row.mergedAt !== null) return { ...row, changed: row.mergedAt };
  // All stamps are ISO texts of the same format, so the greater text is the later stamp.
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

  /** Returns the first URL with this key that was passed to {@link keyOf}, or null. */
  urlOf(key: string): string | null {
    return this.urls.get(key) ?? null;
  }
}
