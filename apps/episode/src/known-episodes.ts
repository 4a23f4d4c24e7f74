import { randomUUID } from 'node:crypto';
import type { Metadata } from './episode-entry.rule.js';
import { bestMatch } from './match.rule.js';
import { minute, newer, settle, type Status, type StatusName, statusNames } from './status.rule.js';

/** An episode as it is stored. */
export interface EpisodeRow extends Metadata {
  id: number;
  subscriptionId: number;
  syncId: string;
  changed: string;
  statuses: Partial<Record<StatusName, Status>>;
}

/** A live subscription that an upload names. */
export interface NamedSubscription {
  id: number;
  currentGuid: string;
}

/** What was read for an upload: subscriptions by every guid sent, and every episode that an entry could mean. */
export interface Loaded {
  subscriptions: [guid: string, NamedSubscription][];
  episodes: EpisodeRow[];
  aliases: [syncId: string, episodeId: number][];
  newIds: number[];
}

/** What an upload changes, as sets. */
export interface Changes {
  rows: EpisodeRow[];
  /** Rows that are there already and get another episode_guid. */
  renamed: number[];
  aliases: [syncId: string, episodeId: number][];
  absorbed: { from: number; into: number }[];
}

/**
 * The episodes that one upload is about, in memory, and what it has changed so far. Invariants: a sync_id names one
 * episode of the user for ever; no two episodes of a subscription have the same episode_guid.
 */
export class KnownEpisodes {
  private readonly subscriptions: Map<string, NamedSubscription>;
  private readonly bySync = new Map<string, EpisodeRow>();
  private readonly bySubscription = new Map<number, Set<EpisodeRow>>();
  private readonly stored = new Map<number, EpisodeRow>();
  private readonly dirty = new Set<EpisodeRow>();
  private readonly aliases = new Map<string, EpisodeRow>();
  /** Those that took in another, which is a change even where nothing of it is seen. */
  private readonly merged = new Set<EpisodeRow>();
  private readonly survivors = new Map<EpisodeRow, EpisodeRow>();

  constructor(
    private readonly loaded: Loaded,
    readonly stamp: string,
  ) {
    this.subscriptions = new Map(loaded.subscriptions);
    const byId = new Map<number, EpisodeRow>();
    for (const row of loaded.episodes) {
      this.stored.set(row.id, { ...row, statuses: { ...row.statuses } });
      byId.set(row.id, row);
      this.place(row);
    }
    for (const [syncId, id] of loaded.aliases) {
      const row = byId.get(id);
      if (row) this.bySync.set(syncId, row);
    }
  }

  subscription(guid: string): NamedSubscription | undefined {
    return this.subscriptions.get(guid);
  }

  bySyncId(syncId: string): EpisodeRow | undefined {
    return this.bySync.get(syncId);
  }

  byEpisodeGuid(subscriptionId: number, episodeGuid: string): EpisodeRow | undefined {
    if (episodeGuid === '') return undefined;
    for (const row of this.candidates(subscriptionId)) if (row.episodeGuid === episodeGuid) return row;
    return undefined;
  }

  match(subscriptionId: number, sought: Metadata): EpisodeRow | undefined {
    return bestMatch(sought, this.candidates(subscriptionId));
  }

  create(subscriptionId: number, metadata: Metadata, syncId: string = randomUUID()): EpisodeRow {
    const id = this.loaded.newIds.shift();
    if (id === undefined) throw new Error('more episodes than entries');
    const row: EpisodeRow = { ...metadata, id, subscriptionId, syncId, changed: this.stamp, statuses: {} };
    this.place(row);
    this.dirty.add(row);
    return row;
  }

  /** Makes a sync_id one more name of an episode. */
  name(row: EpisodeRow, syncId: string): void {
    if (this.bySync.get(syncId) === row) return;
    this.bySync.set(syncId, row);
    this.aliases.set(syncId, row);
  }

  /** Replaces the metadata that was sent; an empty value does not replace one that is there. */
  describe(row: EpisodeRow, sent: Partial<Metadata>): void {
    for (const [field, value] of Object.entries(sent) as [keyof Metadata, string][]) {
      if (value === '' || row[field] === value) continue;
      row[field] = value;
      this.dirty.add(row);
    }
  }

  /** Settles the statuses that were sent against those that stand. */
  settle(row: EpisodeRow, sent: EpisodeRow['statuses']): void {
    for (const name of statusNames) {
      const status = sent[name];
      if (!status) continue;
      const settled = settle(row.statuses[name], status, this.stamp);
      if (settled.change === 'none') continue;
      row.statuses[name] = settled.status;
      this.dirty.add(row);
    }
  }

  /** Makes two episodes one: status by status the newest, the survivor's metadata, its gaps filled; all names stay. */
  absorb(from: EpisodeRow, into: EpisodeRow): void {
    for (const name of statusNames) {
      const status = newer(into.statuses[name], from.statuses[name]);
      if (status) into.statuses[name] = status;
    }
    if (into.episodeGuid === '') into.episodeGuid = from.episodeGuid;
    if (into.title === '') into.title = from.title;
    if (into.episodeUrl === '') into.episodeUrl = from.episodeUrl;
    this.candidates(from.subscriptionId).delete(from);
    this.dirty.delete(from);
    this.dirty.add(into);
    this.merged.add(into);
    for (const [syncId, row] of this.bySync) if (row === from) this.bySync.set(syncId, into);
    for (const [syncId, row] of this.aliases) if (row === from) this.aliases.set(syncId, into);
    this.name(into, from.syncId);
    this.aliases.set(from.syncId, into);
    this.survivors.set(from, into);
  }

  /** The episode that an earlier entry meant, after all entries: itself, or the one it was absorbed by. */
  standing(row: EpisodeRow): EpisodeRow {
    let standing = row;
    for (let next = this.survivors.get(row); next; next = this.survivors.get(next)) standing = next;
    return standing;
  }

  /** What is to be written. A row is stamped where what is seen of it is not what it was before the upload. */
  changes(): Changes {
    const rows = [...this.dirty];
    for (const row of rows) {
      const before = this.stored.get(row.id);
      if (before && !this.merged.has(row) && looksAlike(before, row)) row.changed = before.changed;
      else row.changed = this.stamp;
    }
    const renamed = rows.filter(({ id, episodeGuid }) => {
      const before = this.stored.get(id)?.episodeGuid ?? '';
      return before !== '' && before !== episodeGuid;
    });
    return {
      rows,
      renamed: renamed.map((row) => row.id),
      aliases: [...this.aliases].map(([syncId, row]) => [syncId, row.id]),
      absorbed: [...this.survivors.keys()].map((row) => ({ from: row.id, into: this.standing(row).id })),
    };
  }

  private place(row: EpisodeRow): void {
    this.candidates(row.subscriptionId).add(row);
    this.bySync.set(row.syncId, row);
  }

  private candidates(subscriptionId: number): Set<EpisodeRow> {
    const there = this.bySubscription.get(subscriptionId);
    if (there) return there;
    const made = new Set<EpisodeRow>();
    this.bySubscription.set(subscriptionId, made);
    return made;
  }
}

const shownFields = ['episodeGuid', 'title', 'publishDate', 'enclosureUrl', 'episodeUrl'] as const;

/** Whether a client sees no difference. */
function looksAlike(one: EpisodeRow, other: EpisodeRow): boolean {
  return (
    shownFields.every((field) => one[field] === other[field]) &&
    statusNames.every((name) => {
      const [left, right] = [one.statuses[name], other.statuses[name]];
      return left && right ? left.value === right.value && minute(left) === minute(right) : left === right;
    })
  );
}
