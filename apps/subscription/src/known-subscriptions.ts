import { hash } from 'node:crypto';

/** What quotas bound; `pointers` are subscriptions that were merged into others. */
export const bounded = ['live', 'pointers', 'guidChanges', 'guids', 'urls'] as const;
export type Bounded = (typeof bounded)[number];

/** How many more a user may have of each. */
export type Remaining = Record<Bounded, number>;

/**
 * What remains of a user's quotas (docs/interface.md, "Quotas") in the course of one write. A user who has more than a
 * quota allows keeps it, and gets no more.
 */
export class RemainingQuota {
  private readonly taken: Remaining = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };

  constructor(private readonly remaining: Remaining) {}

  /** Counts what was added; a negative number is what was removed. */
  take(what: Bounded, count = 1): void {
    this.taken[what] += count;
  }

  /** Whether this much may be added. */
  allows(more: Partial<Remaining>): boolean {
    return bounded.every((what) => this.fits(what, more[what] ?? 0));
  }

  /** Whether more was added than may be. */
  get isExceeded(): boolean {
    return bounded.some((what) => this.taken[what] > 0 && this.taken[what] > this.remaining[what]);
  }

  private fits(what: Bounded, more: number): boolean {
    return more <= 0 || this.taken[what] + more <= this.remaining[what];
  }
}

/** A subscription as it is stored; one with `deleted` is a tombstone. Times are stamps. */
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

/** What a write has read: every row that a guid or URL of the request names, and ids for new rows. */
export interface Loaded {
  rows: SubscriptionRow[];
  guids: [guid: string, subscriptionId: number][];
  /** By the SHA-256 of the URL in hexadecimal. */
  urls: [urlSha256: string, subscriptionId: number][];
  newIds: number[];
  /** What remains of the quotas. */
  left: Remaining;
}

/** What a write changes. */
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
 * The part of a user's subscriptions that one write is about, in memory: which subscription owns which guid and URL,
 * and what the write has changed so far. Invariants: a guid or URL belongs to at most one subscription; a subscription,
 * or the one it was merged into, keeps every guid and URL it ever had; its current guid and URL are among them.
 */
export class KnownSubscriptions {
  /** What remains of the user's quotas. Changes are only counted here; the rules refuse them. */
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

  /** Subscribes by POST. Revives a tombstone, and wins over a deletion that is still pending. */
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

  /** Makes a URL the current one; the former one still names the subscription. */
  moveTo(row: SubscriptionRow, feedUrl: string): void {
    row.feedUrl = feedUrl;
    row.subscriptionChanged = this.stamp;
    this.changedRows.add(row.id);
    this.nameUrl(row, feedUrl);
  }

  /**
   * Whether a change to this guid has to be recorded as a former guid. A request has one stamp, so of several changes
   * in it only the first replaces a guid that clients have seen.
   */
  wouldReplace(row: SubscriptionRow, guid: string): boolean {
    return guid !== row.guid && !this.formerGuids.has(row.id) && !this.created.has(row.id);
  }

  /** Makes a guid the current one; the former one still names the subscription, and is recorded with its time. */
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

  /** Merges a subscription into another, which owns all its guids and URLs from now on; it stays as a pointer. */
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

/** Adds the stamp that `since` is compared with (GET /subscriptions). Stamps compare as texts. */
function withChanged(row: SubscriptionRow): SubscriptionRow & { changed: string } {
  if (row.mergedAt !== null) return { ...row, changed: row.mergedAt };
  const changed = [row.guidChanged, row.deleted].reduce<string>(
    (latest, stamp) => (stamp !== null && stamp > latest ? stamp : latest),
    row.subscriptionChanged,
  );
  return { ...row, changed };
}
