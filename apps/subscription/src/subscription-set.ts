import { clampedTime, isSuperseded, podcastGuid } from '#contracts';
import { RemainingQuota } from './remaining-quota.js';
import type { SubscriptionChanges, GuidEntry, Snapshot, Merge } from './subscription-changes.js';
import { lastChangeOfIsSubscribed, laterOf, urlChange } from './subscription-changes.js';
import * as stored from './subscription-row.js';

export type { SubscriptionChanges, Snapshot, Merge };

type SubscriptionRow = stored.SubscriptionRow;
const { isLive, isStillSubscribed } = stored;

/**
 * The subscriptions that one write has read, with the owners of guids and URLs, and the changes of
 * the write so far. The owner of a guid or URL is the subscription that it belongs to. Invariants:
 * - A guid or URL always has exactly one owner.
 * - The owner changes in three cases: a merge makes the survivor the owner; a live subscription
 *   gets a guid or URL of a tombstone; a former URL becomes the current URL of another
 *   subscription.
 * - The current guid of a subscription is one of its guids.
 * - The guid derived from each of its URLs is one of its guids, unless another live subscription
 *   has it or a quota is reached.
 *
 * Maps identify URLs by their lookup keys, which are the same for equal URLs.
 */
export class SubscriptionSet {
  /** Remaining quotas of the user. This class counts added rows; the rules check most limits. */
  readonly quota: RemainingQuota;
  private readonly rows: Map<number, SubscriptionRow>;
  private readonly guidEntries: Map<string, GuidEntry>;
  /** By lookup key of the URL: id of the owner. */
  private readonly urlOwners: Map<string, number>;
  private readonly subscribedBeforeWrite: ReadonlySet<number>;
  private readonly urlKeys = new stored.UrlKeys();
  private readonly createdIds = new Set<number>();
  private readonly changedRows = new Set<number>();
  private readonly changedGuids = new Set<string>();
  private readonly changedUrls = new Set<string>();
  private readonly formerUrls = new Set<string>();
  private readonly formerGuids = new Map<number, string>();
  private readonly merges: Merge[] = [];
  private usedIdCount = 0;

  constructor(
    private readonly snapshot: Snapshot,
    readonly stamp: string,
    /** Arrival of the request, in milliseconds since 1970. */
    readonly arrivedMs: number,
  ) {
    this.rows = new Map(snapshot.rows.map((row) => [row.id, { ...row }]));
    this.guidEntries = new Map(snapshot.guids.map(([guid, ...entry]) => [guid, entry]));
    this.urlOwners = new Map(snapshot.urls);
    this.subscribedBeforeWrite = new Set(
      snapshot.rows.filter(({ isSubscribed }) => isSubscribed).map(({ id }) => id),
    );
    this.quota = new RemainingQuota(snapshot.remaining);
  }

  byGuid(guid: string): SubscriptionRow | undefined {
    const [subscriptionId] = this.guidEntries.get(guid) ?? [];
    return subscriptionId === undefined ? undefined : this.byId(subscriptionId);
  }

  byUrl(feedUrl: string): SubscriptionRow | undefined {
    const id = this.urlOwners.get(this.urlKeys.keyOf(feedUrl));
    return id === undefined ? undefined : this.byId(id);
  }

  /**
   * Returns the subscription whose current URL is `feedUrl`. If another subscription gets the same
   * current URL, `applyPatch` always merges the two. `matchByGuid` (POST) and `applyMove`
   * (publisher) merge them only if the returned subscription is live and has no declared guid. They
   * reject the change if it has a declared guid.
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

  /** Creates a subscription that is subscribed. @param isDeclared see {@link assignGuid}. */
  create(feedUrl: string, guid: string, isDeclared: boolean, timestamp?: string): SubscriptionRow {
    const id = this.snapshot.newIds[this.usedIdCount++];
    if (id === undefined)
      throw new Error('reserved subscription ids exhausted: more new rows than entries (bug)');
    const row = stored.blankRow(id, feedUrl, guid, this.stamp);
    this.rows.set(id, row);
    this.createdIds.add(id);
    this.changedRows.add(id);
    this.quota.countAdded('live');
    this.assignGuid(row, guid, isDeclared);
    this.assignUrl(row, feedUrl);
    this.setSubscribed(row, true, timestamp);
    return row;
  }

  /**
   * Returns true if subscribing with this timestamp would change neither `isSubscribed` nor its
   * time. False without a timestamp.
   */
  isUnchangedBy(row: SubscriptionRow, timestamp?: string): boolean {
    if (timestamp === undefined || !isLive(row) || !isStillSubscribed(row)) return false;
    return this.chooseTime(row, true, timestamp) === row.subscribedAt;
  }

  /** Returns true if the current state is newer than a change of `isSubscribed` at `timestamp`. */
  isSuperseded(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): boolean {
    const at = timestamp && clampedTime(timestamp, this.arrivedMs).at;
    return isSuperseded({ ...row, isSubscribed: isStillSubscribed(row) }, isSubscribed, at);
  }

  /** Subscribes a row, as POST does. Revives a tombstone, and cancels a PENDING deletion. */
  subscribe(row: SubscriptionRow, timestamp?: string): void {
    if (row.deleted !== null) this.quota.countAdded('live');
    row.deleted = null;
    row.deletionId = null;
    this.setSubscribed(row, true, timestamp);
  }

  /** Sets `isSubscribed` and, unless a deletion is PENDING, its time. */
  setSubscribed(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): void {
    if (row.deletionId === null) row.subscribedAt = this.chooseTime(row, isSubscribed, timestamp);
    row.isSubscribed = isSubscribed;
    this.stampSubscription(row);
  }

  /**
   * Sets the listener's title, or removes it if `title` is empty. Does nothing if the current title
   * has a later time. For an equal title it stores only the time and does not stamp the row.
   */
  setTitle(row: SubscriptionRow, title: string, timestamp?: string): void {
    const newTitleAt =
      timestamp === undefined ? this.snapshot.now : clampedTime(timestamp, this.arrivedMs).at;
    if (row.titleAt !== null && newTitleAt < row.titleAt) return;
    if ((row.title ?? '') !== title) this.stampSubscription(row);
    else if (newTitleAt === row.titleAt) return;
    row.title = title || null;
    row.titleAt = newTitleAt;
    this.changedRows.add(row.id);
  }

  /** Sets `subscriptionChanged` to the stamp of the write. */
  stampSubscription(row: SubscriptionRow): void {
    row.subscriptionChanged = this.stamp;
    this.changedRows.add(row.id);
  }

  /** Makes `feedUrl` the current URL of a subscription. Its previous URL stays an alias. */
  setCurrentUrl(row: SubscriptionRow, feedUrl: string): void {
    if (row.feedUrl !== feedUrl) this.formerUrls.add(row.feedUrl);
    row.feedUrl = feedUrl;
    row.hasLostUrl = false;
    this.stampSubscription(row);
    this.assignUrl(row, feedUrl);
  }

  /**
   * Returns true if a change to this guid adds the current guid to `former_guids`. A write adds at
   * most one per subscription, because the stamp of the write is part of the primary key.
   */
  addsFormerGuid(row: SubscriptionRow, guid: string): boolean {
    return guid !== row.guid && !this.formerGuids.has(row.id) && !this.createdIds.has(row.id);
  }

  /**
   * Makes a declared guid the current guid of a subscription. Its previous guid stays an alias and
   * is added to `former_guids` ({@link addsFormerGuid}).
   */
  changeGuid(row: SubscriptionRow, guid: string): void {
    if (this.addsFormerGuid(row, guid)) {
      this.quota.countAdded('guidChanges');
      this.formerGuids.set(row.id, row.guid);
    }
    row.guid = guid;
    row.guidChanged = this.stamp;
    this.changedRows.add(row.id);
    this.assignGuid(row, guid, true);
  }

  /**
   * Assigns a guid that no other live subscription has. If it is the current guid of a tombstone,
   * the tombstone is merged into the row.
   *
   * @param isDeclared true if a client or a feed declared the guid.
   */
  assignGuid(row: SubscriptionRow, guid: string, isDeclared: boolean): void {
    const owner = this.byGuid(guid);
    const isTransferred = owner !== undefined && owner !== row;
    if (isTransferred && owner.guid === guid) this.absorb(owner, row);
    const [, wasDeclared, wasDerived] = this.guidEntries.get(guid) ?? [row.id, false, false];
    const isDerived = wasDerived && !(isTransferred && owner.mergedInto === null);
    this.setOwner(guid, [
      row.id,
      isDeclared || wasDeclared,
      isDerived || guid === podcastGuid(row.feedUrl),
    ]);
  }

  /** Assigns a URL, and the guid derived from it unless another live subscription has it. */
  assignUrl(row: SubscriptionRow, feedUrl: string): void {
    const [key, formerOwner] = [this.urlKeys.keyOf(feedUrl), this.byUrl(feedUrl)];
    if (!formerOwner) this.quota.countAdded('urls');
    else if (formerOwner !== row) this.transferUrl(feedUrl, formerOwner, row);
    this.urlOwners.set(key, row.id);
    this.changedUrls.add(key);
    this.assignDerivedGuid(row, podcastGuid(feedUrl), formerOwner);
  }

  /**
   * Merges `from` into `into`. `into` gets the guids and URLs of `from`, the later time of
   * `isSubscribed` (not the value), and the title that was changed last. Cancels the PENDING
   * deletions of both.
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

  /** Returns the changes of the write so far. */
  changes(): SubscriptionChanges {
    return {
      rows: [...this.changedRows].map((id) => {
        const row = this.rows.get(id) as SubscriptionRow;
        const flippedAt = this.lastChangeOfIsSubscribed(row);
        const survivor = row.mergedInto === null ? {} : { mergedInto: this.byId(id).id };
        return stored.withChanged({ ...row, ...survivor, flippedAt });
      }),
      guids: [...this.changedGuids].map((guid) => {
        const [id, ...flags] = this.guidEntries.get(guid) as GuidEntry;
        return [guid, this.byId(id).id, ...flags];
      }),
      urls: [...this.changedUrls].map((key) =>
        urlChange(key, this.byId(this.urlOwners.get(key) as number), this.urlKeys.urlOf(key)),
      ),
      formerUrls: [...this.formerUrls],
      formerGuids: [...this.formerGuids],
      merges: this.merges.map((merge) => ({ ...merge, survivor: this.byId(merge.from).id })),
      added: { ...this.quota.added },
    };
  }

  /** Returns the stamp of the last change of `isSubscribed`, with the changes of this write. */
  private lastChangeOfIsSubscribed(row: SubscriptionRow): string | null {
    return lastChangeOfIsSubscribed(
      row,
      this.subscribedBeforeWrite.has(row.id),
      this.createdIds.has(row.id),
      this.stamp,
    );
  }

  /**
   * Records that a URL moves from one row to another, and marks `from` if this was its current URL.
   * If `from` was ever subscribed, gpodder clients can have the URL. Therefore `from` gets a stamp
   * if it is subscribed, and `into` gets one if it is not: these clients receive the rows again.
   */
  private transferUrl(feedUrl: string, from: SubscriptionRow, into: SubscriptionRow): void {
    if (this.byCurrentUrl(feedUrl)) {
      from.hasLostUrl = true;
      this.changedRows.add(from.id);
    }
    if (this.lastChangeOfIsSubscribed(from) === null) return;
    for (const row of [
      ...(from.isSubscribed ? [from] : []),
      ...(into.isSubscribed ? [] : [into]),
    ]) {
      row.flippedAt = this.stamp;
      this.stampSubscription(row);
    }
  }

  /**
   * Returns the time to store for a change of `isSubscribed`: the later of the time of the change
   * and the stored time. The time of a change without a timestamp is the time of the database. A
   * timestamp more than 5 minutes in the future is replaced by the arrival of the request, and
   * counts only if `isSubscribed` changes.
   */
  private chooseTime(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): string {
    const databaseTime = { at: this.snapshot.now, clamped: false };
    const { at, clamped } =
      timestamp === undefined ? databaseTime : clampedTime(timestamp, this.arrivedMs);
    const keepsStored = at < row.subscribedAt || (clamped && row.isSubscribed === isSubscribed);
    return keepsStored ? row.subscribedAt : at;
  }

  /** Makes `from`, a live subscription or a tombstone, a pointer to `into`. */
  private absorb(from: SubscriptionRow, into: SubscriptionRow): void {
    if (from.deleted === null) this.quota.countAdded('live', -1);
    this.quota.countAdded('pointers');
    this.merges.push({ from: from.id, into: into.id, hasStates: from.deleted === null });
    // A gpodder client that has not received the last change of either row gets the merged row.
    into.flippedAt = laterOf(
      this.lastChangeOfIsSubscribed(from),
      this.lastChangeOfIsSubscribed(into),
    );
    this.formerUrls.add(from.feedUrl);
    from.mergedInto = into.id;
    from.mergedAt = this.stamp;
    into.declaredGuids += from.declaredGuids;
    from.declaredGuids = 0;
    this.changedRows.add(from.id).add(into.id);
  }

  /**
   * Assigns the guid derived from a URL, if the quotas allow. If another live subscription has the
   * guid, the guid moves only if that subscription also had the URL and has another current guid.
   */
  private assignDerivedGuid(
    row: SubscriptionRow,
    guid: string,
    formerUrlOwner: SubscriptionRow | undefined,
  ): void {
    const owner = this.byGuid(guid);
    if (!owner && !this.quota.allows({ guids: 1 })) return;
    const wasDeclared = this.guidEntries.get(guid)?.[1] ?? false;
    if (owner && owner !== row) {
      const isCurrent = owner.guid === guid;
      if (isLive(owner)) {
        if (owner !== formerUrlOwner) return;
        if (isCurrent)
          return this.setOwner(guid, [owner.id, wasDeclared, podcastGuid(owner.feedUrl) === guid]);
      } else if (isCurrent) {
        if (!this.quota.allows({ pointers: 1 })) return;
        this.absorb(owner, row);
      }
    }
    this.setOwner(guid, [row.id, wasDeclared, true]);
  }

  /** Sets the owner of a guid, and updates `declaredGuids` of the old and the new owner. */
  private setOwner(guid: string, entry: GuidEntry): void {
    const oldEntry = this.guidEntries.get(guid);
    if (oldEntry?.every((field, index) => field === entry[index])) return;
    if (oldEntry) this.countDeclared(oldEntry, -1);
    else this.quota.countAdded('guids');
    this.countDeclared(entry, 1);
    this.guidEntries.set(guid, entry);
    this.changedGuids.add(guid);
  }

  private countDeclared([id, declared, derived]: GuidEntry, count: number): void {
    if (!declared || derived) return;
    const row = this.byId(id);
    row.declaredGuids += count;
    this.changedRows.add(row.id);
  }
}
