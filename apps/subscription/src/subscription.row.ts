import { hash } from 'node:crypto';

/** A subscription as it is stored; one with `deleted` is a tombstone. Times are stamps, but for `subscribedAt`. */
export interface SubscriptionRow {
  id: number;
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  /** When the listener subscribed or unsubscribed (UTC with microseconds); from a DELETE on, its time. */
  subscribedAt: string;
  subscriptionChanged: string;
  /** The stamp at which it was last subscribed or unsubscribed for clients that know feeds by their URLs; none: never. */
  flipped: string | null;
  guidChanged: string | null;
  /** How many of its guids a client sent that are not derived from one of its URLs. */
  declaredGuids: number;
  /** The deletion that is PENDING for it. */
  deletionId: number | null;
  deleted: string | null;
  mergedInto: number | null;
  mergedAt: string | null;
  /** Of a tombstone: whether a live subscription took its feedUrl. */
  hasLostUrl?: boolean;
}

/** The time of a state that nobody chose: older than any other. */
export const never = '1970-01-01T00:00:00.000000Z';

/** One that is not subscribed, and never was. */
export function blankRow(id: number, feedUrl: string, guid: string, stamp: string): SubscriptionRow {
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
  };
}

/** The key under which a feed URL is stored. */
export function urlKey(feedUrl: string): string {
  return hash('sha256', feedUrl, 'hex');
}

/** Whether a subscription is there, also while its deletion is PENDING. */
export function isLive(row: SubscriptionRow | undefined): row is SubscriptionRow {
  return row?.deleted === null;
}

/** Whether it is subscribed, and no DELETE says otherwise. */
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

/** Keys of URLs. Each URL is hashed once: a rule asks for it again and again. */
export class UrlKeys {
  private readonly keys = new Map<string, string>();
  private readonly urls = new Map<string, string>();

  keyOf(feedUrl: string): string {
    const key = this.keys.get(feedUrl) ?? urlKey(feedUrl);
    this.keys.set(feedUrl, key);
    this.urls.set(key, feedUrl);
    return key;
  }

  /** The URL with a key, where it was asked for. */
  urlOf(key: string): string | null {
    return this.urls.get(key) ?? null;
  }
}
