import { countedTime, isSuperseded, podcastGuid } from '#contracts';
import { RemainingQuota } from './remaining.quota.js';
import type { SubscriptionChanges, GuidName, Snapshot, Merge } from './subscription.changes.js';
import { flippedAt, laterOf, urlChange } from './subscription.changes.js';
import * as stored from './subscription.row.js';

export type { SubscriptionChanges, Snapshot, Merge };

type SubscriptionRow = stored.SubscriptionRow;
const { isLive, isStillSubscribed } = stored;

/**
 * In-memory part of a user's subscriptions that one write reads and changes: the owners of guids
 * and URLs, and the changes so far. Invariants:
 * - A guid or URL belongs to at most one subscription.
 * - A subscription, or its survivor after a merge, keeps all guids and URLs. A live subscription
 *   can take those of a tombstone.
 * - The current guid of a subscription is among its guids.
 * - The guid derived from each of its URLs names it unless another live subscription has it.
 *
 * Equal URLs are one URL: maps have their lookup keys, and rows the text that was sent first.
 */
export class KnownSubscriptions {
  /** Remaining quotas of the user. This class only counts changes; the rules refuse them. */
  readonly quota: RemainingQuota;
  private readonly rows: Map<number, SubscriptionRow>;
  private readonly guids: Map<string, GuidName>;
  private readonly urls: Map<string, number>;
  private readonly storedSubscribed: ReadonlySet<number>;
  private readonly hashed = new stored.UrlKeys();
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
    this.guids = new Map(snapshot.guids.map(([guid, ...name]) => [guid, name]));
    this.urls = new Map(snapshot.urls);
    this.storedSubscribed = new Set(
      snapshot.rows.filter(({ isSubscribed }) => isSubscribed).map(({ id }) => id),
    );
    this.quota = new RemainingQuota(snapshot.left);
  }

  byGuid(guid: string): SubscriptionRow | undefined {
    const name = this.guids.get(guid);
    return name && this.byId(name[0]);
  }

  byUrl(feedUrl: string): SubscriptionRow | undefined {
    const id = this.urls.get(this.hashed.keyOf(feedUrl));
    return id === undefined ? undefined : this.byId(id);
  }

  /** Returns whether a URL equals the current one of a subscription. */
  isCurrentUrl(row: SubscriptionRow, feedUrl: string): boolean {
    return row.feedUrl === feedUrl || this.hashed.keyOf(row.feedUrl) === this.hashed.keyOf(feedUrl);
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
    this.quota.take('live');
    this.nameGuid(row, guid, sent);
    this.nameUrl(row, feedUrl);
    this.setSubscribed(row, true, timestamp);
    return row;
  }

  /** Returns whether a POST with this timestamp leaves a subscribed row unchanged. */
  isSettled(row: SubscriptionRow, timestamp?: string): boolean {
    if (timestamp === undefined || !isLive(row) || !isStillSubscribed(row)) return false;
    return this.timeOf(row, true, timestamp) === row.subscribedAt;
  }

  /** Returns whether the current state is newer than a change of `isSubscribed`. */
  isSuperseded(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): boolean {
    const at = timestamp && countedTime(timestamp, this.arrivedMs).at;
    return isSuperseded({ ...row, isSubscribed: isStillSubscribed(row) }, isSubscribed, at);
  }

  /** Subscribes by POST. Revives a tombstone, and overrides a pending deletion. */
  add(row: SubscriptionRow, timestamp?: string): void {
    if (row.deleted !== null) this.quota.take('live');
    row.deleted = null;
    row.deletionId = null;
    this.setSubscribed(row, true, timestamp);
  }

  /** Sets the state of a change that is not superseded; a pending DELETE keeps its time. */
  setSubscribed(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): void {
    if (row.deletionId === null) row.subscribedAt = this.timeOf(row, isSubscribed, timestamp);
    row.isSubscribed = isSubscribed;
    this.stampSubscription(row);
  }

  /**
   * Sets the listener's title, or removes it if empty, unless the current one is newer. An equal
   * title is no change, and only its time is stored.
   */
  setTitle(row: SubscriptionRow, title: string, timestamp?: string): void {
    const at =
      timestamp === undefined ? this.snapshot.now : countedTime(timestamp, this.arrivedMs).at;
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

  /** Makes a URL the current one; the former one still names the subscription. */
  moveTo(row: SubscriptionRow, feedUrl: string): void {
    if (row.feedUrl !== feedUrl) this.formerUrls.add(row.feedUrl);
    row.feedUrl = feedUrl;
    row.hasLostUrl = false;
    this.stampSubscription(row);
    this.nameUrl(row, feedUrl);
  }

  /** Returns whether to record a former guid: only for the first change of a write (one stamp). */
  wouldReplace(row: SubscriptionRow, guid: string): boolean {
    return guid !== row.guid && !this.formerGuids.has(row.id) && !this.created.has(row.id);
  }

  /** Makes a client's guid the current one; the former one is recorded and stays a name. */
  changeGuid(row: SubscriptionRow, guid: string): void {
    if (this.wouldReplace(row, guid)) {
      this.quota.take('guidChanges');
      this.formerGuids.set(row.id, row.guid);
    }
    row.guid = guid;
    row.guidChanged = this.stamp;
    this.changedRows.add(row.id);
    this.nameGuid(row, guid, true);
  }

  /** Assigns a guid without live owners; a tombstone whose current one it is becomes a pointer. */
  nameGuid(row: SubscriptionRow, guid: string, sent: boolean): void {
    const owner = this.byGuid(guid);
    const passes = owner !== undefined && owner !== row;
    if (passes && owner.guid === guid) this.absorb(owner, row);
    const [, wasSent, wasDerived] = this.guids.get(guid) ?? [row.id, false, false];
    const isDerived = wasDerived && !(passes && owner.mergedInto === null);
    this.own(guid, [row.id, sent || wasSent, isDerived || guid === podcastGuid(row.feedUrl)]);
  }

  /** Assigns a URL, and the guid derived from it unless another live subscription has it. */
  nameUrl(row: SubscriptionRow, feedUrl: string): void {
    const [key, former] = [this.hashed.keyOf(feedUrl), this.byUrl(feedUrl)];
    if (!former) this.quota.take('urls');
    else if (former !== row) this.passUrl(feedUrl, former, row);
    this.urls.set(key, row.id);
    this.changedUrls.add(key);
    this.nameDerived(row, podcastGuid(feedUrl), former);
  }

  /**
   * Merges a row into another, which gets its names, the later time and the title that was changed
   * last. Cancels both deletions.
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
        const flipped = this.flippedOf(row);
        const pointsTo = row.mergedInto === null ? {} : { mergedInto: this.byId(id).id };
        return stored.withChanged({ ...row, ...pointsTo, flipped });
      }),
      guids: [...this.changedGuids].map((guid) => {
        const [id, ...flags] = this.guids.get(guid) as GuidName;
        return [guid, this.byId(id).id, ...flags];
      }),
      urls: [...this.changedUrls].map((key) =>
        urlChange(key, this.byId(this.urls.get(key) as number), this.hashed.urlOf(key)),
      ),
      formerUrls: [...this.formerUrls],
      formerGuids: [...this.formerGuids],
      merges: this.merges.map((merge) => ({ ...merge, survivor: this.byId(merge.from).id })),
      added: { ...this.quota.taken },
    };
  }

  /** Returns the stamp of the last flip: the write's, if it changed the state overall. */
  private flippedOf(row: SubscriptionRow): string | null {
    return flippedAt(row, this.storedSubscribed.has(row.id), this.created.has(row.id), this.stamp);
  }

  /** Moves a URL to another row; clients that list it receive the new and the former owner. */
  private passUrl(feedUrl: string, from: SubscriptionRow, into: SubscriptionRow): void {
    if (this.isCurrentUrl(from, feedUrl)) {
      from.hasLostUrl = true;
      this.changedRows.add(from.id);
    }
    if (this.flippedOf(from) === null) return;
    for (const row of [
      ...(from.isSubscribed ? [from] : []),
      ...(into.isSubscribed ? [] : [into]),
    ]) {
      row.flipped = this.stamp;
      this.stampSubscription(row);
    }
  }

  /** Returns the time of a change; a clamped time without a change of state keeps the current. */
  private timeOf(row: SubscriptionRow, isSubscribed: boolean, timestamp?: string): string {
    const unclamped = { at: this.snapshot.now, clamped: false };
    const { at, clamped } =
      timestamp === undefined ? unclamped : countedTime(timestamp, this.arrivedMs);
    const stays = at < row.subscribedAt || (clamped && row.isSubscribed === isSubscribed);
    return stays ? row.subscribedAt : at;
  }

  private absorb(from: SubscriptionRow, into: SubscriptionRow): void {
    if (from.deleted === null) this.quota.take('live', -1);
    this.quota.take('pointers');
    this.merges.push({ from: from.id, into: into.id, hasStates: from.deleted === null });
    // A client that missed either change must see the merged row.
    into.flipped = laterOf(this.flippedOf(from), this.flippedOf(into));
    this.formerUrls.add(from.feedUrl);
    from.mergedInto = into.id;
    from.mergedAt = this.stamp;
    into.declaredGuids += from.declaredGuids;
    from.declaredGuids = 0;
    this.changedRows.add(from.id).add(into.id);
  }

  /** Assigns a URL's guid if the quota allows. It moves with the URL, unless current elsewhere. */
  private nameDerived(
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
          return this.own(guid, [owner.id, wasSent, podcastGuid(owner.feedUrl) === guid]);
      } else if (isCurrent) {
        if (!this.quota.allows({ pointers: 1 })) return;
        this.absorb(owner, row);
      }
    }
    this.own(guid, [row.id, wasSent, true]);
  }

  /** Sets the owner of a guid, and updates the number of declared ones. */
  private own(guid: string, name: GuidName): void {
    const before = this.guids.get(guid);
    if (before?.every((part, index) => part === name[index])) return;
    if (before) this.countDeclared(before, -1);
    else this.quota.take('guids');
    this.countDeclared(name, 1);
    this.guids.set(guid, name);
    this.changedGuids.add(guid);
  }

  private countDeclared([id, sent, derived]: GuidName, count: number): void {
    if (!sent || derived) return;
    const row = this.byId(id);
    row.declaredGuids += count;
    this.changedRows.add(row.id);
  }
}
