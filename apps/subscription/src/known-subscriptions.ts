import { hash } from 'node:crypto';
import { type Remaining, RemainingQuota } from './remaining.quota.js';

/** A subscription as it is stored; a tombstone has `deleted`. Times are stamps. */
export interface SubscriptionRow {
  id: number;
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  subscriptionChanged: string;
  added: string;
  guidChanged: string | null;
  deleted: string | null;
  mergedInto: number | null;
  mergedAt: string | null;
}

/** What was read for a write: every row that a guid or URL of the request names, and ids for rows to be made. */
export interface Loaded {
  rows: SubscriptionRow[];
  guids: [guid: string, subscriptionId: number][];
  /** By the SHA-256 of the URL in hexadecimal. */
  urls: [urlSha256: string, subscriptionId: number][];
  newIds: number[];
  /** What the quotas leave. */
  left: Remaining;
}

/** What a write changes, as sets. */
export interface Changes {
  rows: (SubscriptionRow & { changed: string })[];
  guids: [guid: string, subscriptionId: number][];
  urls: [urlSha256: string, subscriptionId: number][];
  formerGuids: [subscriptionId: number, guid: string][];
  merges: { from: number; into: number }[];
}

/** The key under which a feed URL is stored. */
export function urlKey(feedUrl: string): string {
  return hash('sha256', feedUrl, 'hex');
}

/**
 * The part of a user's subscriptions that one write is about, in memory: who owns which guid and which URL, and what
 * the write has changed so far. Invariants: one guid and one URL belong to at most one subscription; what a
 * subscription was once named, it is named for ever; a subscription's current guid and URL are among its names.
 */
export class KnownSubscriptions {
  /** What is left of the user's quotas; what is done here is counted, and never refused. */
  readonly quota: RemainingQuota;
  private readonly rows: Map<number, SubscriptionRow>;
  private readonly guids: Map<string, number>;
  private readonly urls: Map<string, number>;
  private readonly created = new Set<number>();
  private readonly changedRows = new Set<number>();
  private readonly changedGuids = new Set<string>();
  private readonly changedUrls = new Set<string>();
  private readonly formerGuids = new Map<number, string>();
  private readonly merges: Changes['merges'] = [];

  constructor(
    private readonly loaded: Loaded,
    private readonly stamp: string,
  ) {
    this.rows = new Map(loaded.rows.map((row) => [row.id, { ...row }]));
    this.guids = new Map(loaded.guids);
    this.urls = new Map(loaded.urls);
    this.quota = new RemainingQuota(loaded.left);
  }

  byGuid(guid: string): SubscriptionRow | undefined {
    return this.rows.get(this.guids.get(guid) ?? -1);
  }

  byUrl(feedUrl: string): SubscriptionRow | undefined {
    return this.rows.get(this.urls.get(urlKey(feedUrl)) ?? -1);
  }

  create(feedUrl: string, guid: string): SubscriptionRow {
    const id = this.loaded.newIds.shift();
    if (id === undefined) throw new Error('more subscriptions than entries');
    const { stamp } = this;
    const row: SubscriptionRow = {
      id,
      feedUrl,
      guid,
      isSubscribed: true,
      subscriptionChanged: stamp,
      added: stamp,
      guidChanged: null,
      deleted: null,
      mergedInto: null,
      mergedAt: null,
    };
    this.quota.take('live');
    this.rows.set(id, row);
    this.created.add(id);
    this.changedRows.add(id);
    this.nameGuid(row, guid);
    this.nameUrl(row, feedUrl);
    return row;
  }

  /** Subscribes by POST: revives a tombstone and wins over a deletion that is still pending. */
  add(row: SubscriptionRow): void {
    if (row.deleted !== null) this.quota.take('live');
    row.added = this.stamp;
    row.deleted = null;
    this.setSubscribed(row, true);
  }

  setSubscribed(row: SubscriptionRow, isSubscribed: boolean): void {
    row.isSubscribed = isSubscribed;
    row.subscriptionChanged = this.stamp;
    this.changedRows.add(row.id);
  }

  /** Makes a URL the current one; the one before stays a name. */
  moveTo(row: SubscriptionRow, feedUrl: string): void {
    row.feedUrl = feedUrl;
    row.subscriptionChanged = this.stamp;
    this.changedRows.add(row.id);
    this.nameUrl(row, feedUrl);
  }

  /**
   * Whether a guid change would be one to remember. One request has one stamp: of the guids it passes through, only the
   * one before the first was ever seen.
   */
  wouldReplace(row: SubscriptionRow, guid: string): boolean {
    return guid !== row.guid && !this.formerGuids.has(row.id) && !this.created.has(row.id);
  }

  /** Makes a guid the current one; the one before stays a name and is remembered with its time. */
  changeGuid(row: SubscriptionRow, guid: string): void {
    if (this.wouldReplace(row, guid)) {
      this.quota.take('guidChanges');
      this.formerGuids.set(row.id, row.guid);
    }
    row.guid = guid;
    row.guidChanged = this.stamp;
    this.changedRows.add(row.id);
    this.nameGuid(row, guid);
  }

  nameGuid(row: SubscriptionRow, guid: string): void {
    if (!this.guids.has(guid)) this.quota.take('guids');
    this.guids.set(guid, row.id);
    this.changedGuids.add(guid);
  }

  nameUrl(row: SubscriptionRow, feedUrl: string): void {
    const key = urlKey(feedUrl);
    if (!this.urls.has(key)) this.quota.take('urls');
    this.urls.set(key, row.id);
    this.changedUrls.add(key);
  }

  /** Merges a subscription into another, which owns all its names from now on; it stays as a pointer. */
  merge(from: SubscriptionRow, into: SubscriptionRow): void {
    if (from.deleted === null) this.quota.take('live', -1);
    this.quota.take('pointers');
    from.mergedInto = into.id;
    from.mergedAt = this.stamp;
    this.changedRows.add(from.id);
    for (const names of [this.guids, this.urls]) {
      for (const [name, id] of names) if (id === from.id) names.set(name, into.id);
    }
    this.merges.push({ from: from.id, into: into.id });
  }

  changes(): Changes {
    const owned = (names: Map<string, number>, changed: Set<string>) =>
      [...changed].map((name): [string, number] => [name, names.get(name) as number]);
    return {
      rows: [...this.changedRows].map((id) => withChanged(this.rows.get(id) as SubscriptionRow)),
      guids: owned(this.guids, this.changedGuids),
      urls: owned(this.urls, this.changedUrls),
      formerGuids: [...this.formerGuids],
      merges: this.merges,
    };
  }
}

/** The stamp that `since` is compared with (GET /subscriptions). Stamps of one form compare as texts. */
function withChanged(row: SubscriptionRow): SubscriptionRow & { changed: string } {
  if (row.mergedAt !== null) return { ...row, changed: row.mergedAt };
  const changed = [row.guidChanged, row.deleted].reduce<string>(
    (latest, stamp) => (stamp !== null && stamp > latest ? stamp : latest),
    row.subscriptionChanged,
  );
  return { ...row, changed };
}
