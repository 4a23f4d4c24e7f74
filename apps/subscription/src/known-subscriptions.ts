import { clampedTime, isSuperseded, podcastGuid } from '#contracts';
import { RemainingQuota } from './remaining.quota.js';
import type { SubscriptionChanges, GuidOwner, Snapshot, Merge } from './subscription.changes.js';
import { lastFlipOf, laterOf, urlChange } from './subscription.changes.js';
import * as stored from './subscription.row.js';

export type { SubscriptionChanges, Snapshot, Merge };

type SubscriptionRow = stored.SubscriptionRow;
const { isLive, isStillSubscribed } = stored;

/**
 * The subscriptions that one write has read, with the owners of guids and URLs, and the changes of
 * the write so far. Invariants:
 * - A guid or URL belongs to at most one subscription.
 * - Every guid and URL keeps an owner. It can move: to the survivor of a merge, from a tombstone to
 *   a live subscription, and a former URL to the subscription that moves to it.
 * - The current guid of a subscription is one of its guids.
 * - The guid derived from each of its URLs is one of its guids, unless another live subscription
 *   has it or a quota is reached.
 *
 * Equal URLs are one URL: maps have their lookup keys, and rows the text that was sent first.
 */
export class KnownSubscriptions {
  /** Remaining quotas of the user. This class only counts; the rules check the quotas. */
  readonly quota: RemainingQuota;
  private readonly rows: Map<number, SubscriptionRow>;
  private readonly guids: Map<string, GuidOwner>;
  private readonly urls: Map<string, number>;
  private readonly storedSubscribed: ReadonlySet<number>;
  private readonly urlKeys = new stored.UrlKeys();
  private readonly created = new Set<number>();
  private readonly changedRows = new Set<number>();
  private readonly changedGuids = new Set<string>();
  private readonly changedUrls = new Set<string>();
  private readonly formerUrls = new Set<string>();
  private readonly formerGuids = new Map<number, string>();
  private readonly merges: Merge[] = [];
  private usedIds = 0;

  constructor(
    private readonly snapshot: Snapshot,
    readonly stamp: string,
    /** Arrival of the request, in milliseconds since 1970. */
    readonly arrivedMs: number,
  ) {
    this.rows = new Map(snapshot.rows.map((row) => [row.id, { ...row }]));
    this.guids = new Map(snapshot.guids.map(([guid, ...owner]) => [guid, owner]));
    this.urls = new Map(snapshot.urls);
    this.storedSubscribed = new Set(
      snapshot.rows.filter(({ isSubscribed }) => isSubscribed).map(({ id }) => id),
    );
    this.quota = new RemainingQuota(snapshot.remaining);
  }

  byGuid(guid: string): SubscriptionRow | undefined {
    const owner = this.guids.get(guid);
    return owner && this.byId(owner[0]);
  }

  byUrl(feedUrl: string): SubscriptionRow | undefined {
    const id = this.urls.get(this.urlKeys.keyOf(feedUrl));
    return id === undefined ? undefined : this.byId(id);
  }

  /**
   * Returns the subscription that has a URL as its current one. All moves of a feed to that URL
   * read it: `matchByGuid` (POST) and `applyMove` (publisher) merge it, or refuse if it has a
   * declared guid. `applyPatch` always merges it.
   */
  byCurrentUrl(feedUrl: string): SubscriptionRow | undefined {
    const row = this.byUrl(feedUrl);
    return row && this.urlKeys.keyOf(row.feedUrl) === this.urlKeys.keyOf(feedUrl) ? row : undefined;
  }

  /** Returns the subscription with an id, or its survivor after merges. */
  byId(id: number): SubscriptionRow {
    let row = this.rows.get(id) as SubscriptionRow;
    while (row.mergedInto !== null) row = this.rows.get(row.mergedInto) as SubscriptionRow;
    return row;
  }

  create(feedUrl: string, guid: string, sent: boolean, timestamp?: string): SubscriptionRow {
    const id = this.snapshot.newIds[this.usedIds++];
    if (id === undefined) throw new Error('more subscriptions than entries');
    const row = stored.blankRow(id, feedUrl, guid, this.stamp);
    this.rows.set(id, row);
    this.created.add(id);
    this.changedRows.add(id);
    this.quota.add('live');
    this.assignGuid(row, guid, sent);
    this.assignUrl(row, feedUrl);
    this.setSubscribed(row, true, timestamp);
    return row;
  }

  /** Returns true if a subscribe with this timestamp would change neither state nor time. */
  isUnchangedBy(row: SubscriptionRow, timestamp?: string): boolean {
    if (timestamp === undefined || !isLive(row) || !isStillSubscribed(row)) return false;
    return this.effectiveTime(row, true, timestamp) === row.subscribedAt;
  }

  /** Returns true if the current state is newer than a change of `isSubscribed`. */
  isSuperseded(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): boolean {
    const at = timestamp && clampedTime(timestamp, this.arrivedMs).at;
    return isSuperseded({ ...row, isSubscribed: isStillSubscribed(row) }, isSubscribed, at);
  }

  /** Subscribes by POST. Revives a tombstone, and overrides a pending deletion. */
  add(row: SubscriptionRow, timestamp?: string): void {
    if (row.deleted !== null) this.quota.add('live');
    row.deleted = null;
    row.deletionId = null;
    this.setSubscribed(row, true, timestamp);
  }

  /** Sets `isSubscribed`. While a deletion is PENDING, its time stays. */
  setSubscribed(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): void {
    if (row.deletionId === null)
      row.subscribedAt = this.effectiveTime(row, isSubscribed, timestamp);
    row.isSubscribed = isSubscribed;
    this.stampSubscription(row);
  }

  /**
   * Sets the listener's title, or removes it if empty, unless the current one is newer. For an
   * equal title only the time is stored, without a stamp.
   */
  setTitle(row: SubscriptionRow, title: string, timestamp?: string): void {
    const at =
      timestamp === undefined ? this.snapshot.now : clampedTime(timestamp, this.arrivedMs).at;
    if (row.titleAt !== null && at < row.titleAt) return;
    if ((row.title ?? '') !== title) this.stampSubscription(row);
    else if (at === row.titleAt) return;
    row.title = title || null;
    row.titleAt = at;
    this.changedRows.add(row.id);
  }

  stampSubscription(row: SubscriptionRow): void {
    row.subscriptionChanged = this.stamp;
    this.changedRows.add(row.id);
  }

  /** Makes a URL the current one. The former URL stays an alias. */
  moveTo(row: SubscriptionRow, feedUrl: string): void {
    if (row.feedUrl !== feedUrl) this.formerUrls.add(row.feedUrl);
    row.feedUrl = feedUrl;
    row.hasLostUrl = false;
    this.stampSubscription(row);
    this.assignUrl(row, feedUrl);
  }

  /**
   * Returns true if a change to this guid records the current one in `former_guids`: at most once
   * per write, because all changes of a write have one stamp.
   */
  wouldReplace(row: SubscriptionRow, guid: string): boolean {
    return guid !== row.guid && !this.formerGuids.has(row.id) && !this.created.has(row.id);
  }

  /**
   * Makes a declared guid the current one. The former guid is stored in `former_guids` and stays an
   * alias.
   */
  changeGuid(row: SubscriptionRow, guid: string): void {
    if (this.wouldReplace(row, guid)) {
      this.quota.add('guidChanges');
      this.formerGuids.set(row.id, row.guid);
    }
    row.guid = guid;
    row.guidChanged = this.stamp;
    this.changedRows.add(row.id);
    this.assignGuid(row, guid, true);
  }

  /**
   * Assigns a guid that no other live subscription has. If it is the current guid of a tombstone,
   * the tombstone becomes a pointer.
   */
  assignGuid(row: SubscriptionRow, guid: string, sent: boolean): void {
    const owner = this.byGuid(guid);
    const isTransferred = owner !== undefined && owner !== row;
    if (isTransferred && owner.guid === guid) this.absorb(owner, row);
    const [, wasSent, wasDerived] = this.guids.get(guid) ?? [row.id, false, false];
    const isDerived = wasDerived && !(isTransferred && owner.mergedInto === null);
    this.setOwner(guid, [row.id, sent || wasSent, isDerived || guid === podcastGuid(row.feedUrl)]);
  }

  /** Assigns a URL, and the guid derived from it unless another live subscription has it. */
  assignUrl(row: SubscriptionRow, feedUrl: string): void {
    const [key, former] = [this.urlKeys.keyOf(feedUrl), this.byUrl(feedUrl)];
    if (!former) this.quota.add('urls');
    else if (former !== row) this.transferUrl(feedUrl, former, row);
    this.urls.set(key, row.id);
    this.changedUrls.add(key);
    this.assignDerivedGuid(row, podcastGuid(feedUrl), former);
  }

  /**
   * Merges a row into another, which gets its guids and URLs, the later time of `isSubscribed`, and
   * the title that was changed last. Cancels the PENDING deletions of both.
   */
  merge(from: SubscriptionRow, into: SubscriptionRow): void {
    if (from.subscribedAt > into.subscribedAt) into.subscribedAt = from.subscribedAt;
    if ((from.titleAt ?? '') > (into.titleAt ?? ''))
      [into.title, into.titleAt] = [from.title, from.titleAt];
    [from.title, from.titleAt] = [null, null];
    from.deletionId = null;
    into.deletionId = null;
    this.absorb(from, into);
  }

  changes(): SubscriptionChanges {
    return {
      rows: [...this.changedRows].map((id) => {
        const row = this.rows.get(id) as SubscriptionRow;
        const flippedAt = this.lastFlip(row);
        const pointsTo = row.mergedInto === null ? {} : { mergedInto: this.byId(id).id };
        return stored.withChanged({ ...row, ...pointsTo, flippedAt });
      }),
      guids: [...this.changedGuids].map((guid) => {
        const [id, ...flags] = this.guids.get(guid) as GuidOwner;
        return [guid, this.byId(id).id, ...flags];
      }),
      urls: [...this.changedUrls].map((key) =>
        urlChange(key, this.byId(this.urls.get(key) as number), this.urlKeys.urlOf(key)),
      ),
      formerUrls: [...this.formerUrls],
      formerGuids: [...this.formerGuids],
      merges: this.merges.map((merge) => ({ ...merge, survivor: this.byId(merge.from).id })),
      added: { ...this.quota.added },
    };
  }

  /** Returns the stamp of the last change of `isSubscribed`, with the changes of this write. */
  private lastFlip(row: SubscriptionRow): string | null {
    return lastFlipOf(row, this.storedSubscribed.has(row.id), this.created.has(row.id), this.stamp);
  }

  /** Moves a URL to another row. Both get a stamp, so that gpodder clients receive both changes. */
  private transferUrl(feedUrl: string, from: SubscriptionRow, into: SubscriptionRow): void {
    if (this.byCurrentUrl(feedUrl)) {
      from.hasLostUrl = true;
      this.changedRows.add(from.id);
    }
    if (this.lastFlip(from) === null) return;
    for (const row of [
      ...(from.isSubscribed ? [from] : []),
      ...(into.isSubscribed ? [] : [into]),
    ]) {
      row.flippedAt = this.stamp;
      this.stampSubscription(row);
    }
  }

  /**
   * Returns the time to store for a change: never earlier than the current one. A clamped time
   * counts only if `isSubscribed` changes.
   */
  private effectiveTime(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): string {
    const unclamped = { at: this.snapshot.now, clamped: false };
    const { at, clamped } =
      timestamp === undefined ? unclamped : clampedTime(timestamp, this.arrivedMs);
    const stays = at < row.subscribedAt || (clamped && row.isSubscribed === isSubscribed);
    return stays ? row.subscribedAt : at;
  }

  private absorb(from: SubscriptionRow, into: SubscriptionRow): void {
    if (from.deleted === null) this.quota.add('live', -1);
    this.quota.add('pointers');
    this.merges.push({ from: from.id, into: into.id, hasStates: from.deleted === null });
    // A client that missed the last change of either row must get the merged row.
    into.flippedAt = laterOf(this.lastFlip(from), this.lastFlip(into));
    this.formerUrls.add(from.feedUrl);
    from.mergedInto = into.id;
    from.mergedAt = this.stamp;
    into.declaredGuids += from.declaredGuids;
    from.declaredGuids = 0;
    this.changedRows.add(from.id).add(into.id);
  }

  /**
   * Assigns the guid derived from a URL, if the quotas allow. A guid of another live subscription
   * moves only if that had the URL and has another current guid.
   */
  private assignDerivedGuid(
    row: SubscriptionRow,
    guid: string,
    formerOfUrl: SubscriptionRow | undefined,
  ): void {
    const owner = this.byGuid(guid);
    if (!owner && !this.quota.allows({ guids: 1 })) return;
    const wasSent = this.guids.get(guid)?.[1] ?? false;
    if (owner && owner !== row) {
      const isCurrent = owner.guid === guid;
      if (isLive(owner)) {
        if (owner !== formerOfUrl) return;
        if (isCurrent)
          return this.setOwner(guid, [owner.id, wasSent, podcastGuid(owner.feedUrl) === guid]);
      } else if (isCurrent) {
        if (!this.quota.allows({ pointers: 1 })) return;
        this.absorb(owner, row);
      }
    }
    this.setOwner(guid, [row.id, wasSent, true]);
  }

  /** Sets the owner of a guid, and updates `declaredGuids` of the old and the new one. */
  private setOwner(guid: string, owner: GuidOwner): void {
    const before = this.guids.get(guid);
    if (before?.every((part, index) => part === owner[index])) return;
    if (before) this.countDeclared(before, -1);
    else this.quota.add('guids');
    this.countDeclared(owner, 1);
    this.guids.set(guid, owner);
    this.changedGuids.add(guid);
  }

  private countDeclared([id, sent, derived]: GuidOwner, count: number): void {
    if (!sent || derived) return;
    const row = this.byId(id);
    row.declaredGuids += count;
    this.changedRows.add(row.id);
  }
}
