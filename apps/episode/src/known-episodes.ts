import { randomUUID } from 'node:crypto';
import { metadataNames, unknownMetadata } from '#contracts';
import { type EpisodeRow, type Identity, looksAlike, type Metadata, type SentMetadata } from './episode.rule.js';
import { MatchIndex, type Rank } from './match.rule.js';

/** A live subscription that an upload names. */
export interface NamedSubscription {
  id: number;
  currentGuid: string;
}

/**
 * What was read for an upload: subscriptions by every name sent, and the episodes that its entries could mean. Of too
 * many some are left out, and `incomplete` says where: of the episodes that an entry (by its index) finds at a rank (0:
 * by its sync_id), only those with ids up to `completeTo` were read for certain.
 */
export interface Loaded {
  /** Which episodes were read: none, as they are too large; those that entries name; all that they could mean. */
  reach: 'none' | 'named' | 'all';
  subscriptions: [name: string, NamedSubscription][];
  episodes: EpisodeRow[];
  aliases: [syncId: string, episodeId: number][];
  incomplete: [entry: number, rank: 0 | Rank, completeTo: number][];
  newIds: number[];
  /** How many more episodes and aliases the user may have. */
  room: { episodes: number; aliases: number };
}

/** What an upload changes, for the statements that write it. */
export interface Changes {
  rows: EpisodeRow[];
  /** Of the rows the new ones, those that are described in another way, and those whose state changed; by id. */
  made: ReadonlySet<number>;
  described: ReadonlySet<number>;
  settled: ReadonlySet<number>;
  /** The sync_ids of stored rows whose episode_guid changes. */
  renamed: string[];
  aliases: [syncId: string, episodeId: number][];
  /** How many of the aliases are new. */
  addedAliases: number;
  absorbed: { from: number; into: number }[];
  /** How many of the absorbed were stored. */
  removed: number;
}

/**
 * The episodes that one upload is about and what it has changed so far: an identity map and a unit of work. Invariants:
 * - a sync_id names one episode of the user for ever;
 * - no two episodes of a subscription have the same episode_guid;
 * - where an episode that was not read could be the answer to a look-up, the answer is `'unread'`; where others can be
 *   read, it `isShort` from then on, and nothing that it said counts.
 */
export class KnownEpisodes {
  private readonly subscriptions: Map<string, NamedSubscription>;
  private readonly stored: ReadonlyMap<number, EpisodeRow>;
  private readonly rows = new Map<number, EpisodeRow>();
  private readonly index: MatchIndex;
  private readonly bySync = new Map<string, number>();
  private readonly completeTo: Map<string, number>;
  private readonly dirty = new Set<number>();
  private readonly aliases = new Map<string, number>();
  private readonly storedAliases: ReadonlySet<string>;
  private addedAliases = 0;
  private idsTaken = 0;
  /** Of each absorbed episode the one that it became part of. */
  private readonly survivors = new Map<number, number>();
  private short: boolean;

  constructor(
    private readonly loaded: Loaded,
    private readonly stamp: string,
    /** When the request arrived, in milliseconds since 1970, which bounds the times of statuses. */
    readonly arrivedMs: number,
  ) {
    this.short = loaded.reach === 'none';
    this.index = new MatchIndex(loaded.reach === 'all' ? 4 : 1);
    this.subscriptions = new Map(loaded.subscriptions);
    this.storedAliases = new Set(loaded.aliases.map(([syncId]) => syncId));
    this.stored = new Map(loaded.episodes.map((row) => [row.id, row]));
    this.completeTo = new Map(loaded.incomplete.map(([entry, rank, to]) => [`${entry} ${rank}`, to]));
    for (const row of loaded.episodes) this.add(row);
    for (const [syncId, id] of loaded.aliases) if (this.rows.has(id)) this.bySync.set(syncId, id);
  }

  /** The live subscription that an upload names so. */
  subscription(name: string): NamedSubscription | undefined {
    return this.subscriptions.get(name);
  }

  /** Whether what an entry means depends on episodes that were not read and can be. */
  get isShort(): boolean {
    return this.short;
  }

  /** The episode that a sync_id names; or `'unread'`. */
  bySyncId(syncId: string, entry: number): EpisodeRow | undefined | 'unread' {
    const id = this.bySync.get(syncId);
    if (id !== undefined) return this.standing(id);
    return this.completeTo.has(`${entry} 0`) ? 'unread' : undefined;
  }

  /** The surest match of what an entry describes, of equally sure ones the lowest row id; or `'unread'`. */
  match(subscriptionId: number, sought: Identity, entry: number): EpisodeRow | undefined | 'unread' {
    const best = this.index.find(subscriptionId, sought);
    if (!best && !this.isWhole) return this.unread();
    for (const rank of [1, 2, 3, 4] as const) {
      const id = best?.rank === rank ? best.id : Infinity;
      // A surer match, or one as sure with a lower id, may be among the episodes that were not read.
      if (id > (this.completeTo.get(`${entry} ${rank}`) ?? Infinity)) return 'unread';
      if (best?.rank === rank) break;
    }
    return best && this.rows.get(best.id);
  }

  /**
   * The other episodes of its subscription that turn out to be the same as a row by what an entry brings: the one that
   * has its episode_guid, and, where the row had no enclosure_url, those with the entry's that have no episode_guid; or
   * `'unread'`.
   */
  sameAs(row: EpisodeRow, brought: SentMetadata, entry: number): EpisodeRow[] | 'unread' {
    const { episodeGuid = '', enclosureUrl } = brought;
    const named = this.index.find(row.subscriptionId, { ...unknownMetadata, episodeGuid });
    if (!named && episodeGuid !== '' && this.completeTo.has(`${entry} 1`)) return 'unread';
    const isNew = row.enclosureUrl === '' && enclosureUrl !== undefined;
    if (isNew && !this.isWhole) return this.unread();
    if (isNew && this.completeTo.has(`${entry} 2`)) return 'unread';
    const bare = isNew ? this.index.bare(row.subscriptionId, enclosureUrl) : [];
    const ids = named ? [named.id, ...bare] : bare;
    return ids.filter((id) => id !== row.id).map((id) => this.standing(id));
  }

  /** Whether the user may have one more episode. */
  get hasRoom(): boolean {
    return this.loaded.room.episodes > 0;
  }

  /** A new episode, which only {@link keep} adds. */
  draft(subscriptionId: number, metadata: Metadata, syncId: string = randomUUID()): EpisodeRow {
    const id = this.loaded.newIds[this.idsTaken];
    if (id === undefined) throw new Error('more episodes than entries');
    this.idsTaken += 1;
    const { episodeGuid, title, publishDate, enclosureUrl, episodeUrl, duration } = metadata;
    // Field by field: V8 copies an object whose fields were made by their names ten times as slowly.
    const described = { episodeGuid, title, publishDate, enclosureUrl, episodeUrl, duration };
    return { id, subscriptionId, syncId, changed: this.stamp, statuses: {}, ...described };
  }

  /** Adds a row or replaces the one with its id; those that are `absorbed` are part of it from now on. */
  keep(row: EpisodeRow, absorbed: readonly EpisodeRow[] = []): void {
    for (const other of absorbed) {
      this.index.remove(other);
      this.rows.delete(other.id);
      this.dirty.delete(other.id);
      this.survivors.set(other.id, row.id);
      this.loaded.room.episodes += 1;
      this.storeAlias(other.syncId, row.id);
    }
    const before = this.rows.get(row.id);
    if (before === row) return;
    if (!before) this.loaded.room.episodes -= 1;
    this.dirty.add(row.id);
    // Most entries change a status alone: what finds the row stays.
    if (before && metadataNames.every((name) => before[name] === row[name])) {
      this.rows.set(row.id, row);
      return;
    }
    if (before) this.index.remove(before);
    this.add(row);
  }

  /** Makes a sync_id one more name of an episode, unless the user has as many aliases as one may. */
  addAlias(id: number, syncId: string): void {
    const named = this.bySync.get(syncId);
    if (named !== undefined && this.survivorOf(named) === id) return;
    if (this.storeAlias(syncId, id)) this.bySync.set(syncId, id);
  }

  /** The episode with an id, or the one that it was absorbed by. */
  standing(id: number): EpisodeRow {
    return this.rows.get(this.survivorOf(id)) as EpisodeRow;
  }

  /** What is to be written. A row is stamped where it is new, is shown differently than before, or absorbed another. */
  changes(): Changes {
    const absorbers = new Set([...this.survivors.keys()].map((id) => this.survivorOf(id)));
    const rows = [...this.dirty].map((id) => {
      const [row, before] = [this.standing(id), this.stored.get(id)];
      return { ...row, changed: before && !absorbers.has(id) && looksAlike(before, row) ? before.changed : this.stamp };
    });
    const renamed = rows.filter(({ id, episodeGuid }) => {
      const before = this.stored.get(id)?.episodeGuid ?? '';
      return before !== '' && before !== episodeGuid;
    });
    const known = rows.filter(({ id }) => this.stored.has(id));
    const differs = (isOther: (before: EpisodeRow, row: EpisodeRow) => boolean) =>
      new Set(known.filter((row) => isOther(this.stored.get(row.id) as EpisodeRow, row)).map(({ id }) => id));
    return {
      rows,
      made: new Set(rows.map(({ id }) => id).filter((id) => !this.stored.has(id))),
      described: differs((before, row) => metadataNames.some((name) => before[name] !== row[name])),
      settled: differs((before, row) => before.changed !== row.changed || before.statuses !== row.statuses),
      renamed: renamed.map((row) => row.syncId),
      aliases: [...this.aliases].map(([syncId, id]) => [syncId, this.survivorOf(id)]),
      addedAliases: this.addedAliases,
      absorbed: [...this.survivors.keys()].map((id) => ({ from: id, into: this.survivorOf(id) })),
      removed: [...this.survivors.keys()].filter((id) => this.stored.has(id)).length,
    };
  }

  /** Whether nothing that was not read could be meant, but for what is `incomplete`. */
  private get isWhole(): boolean {
    return this.loaded.reach === 'all';
  }

  private unread(): 'unread' {
    this.short = true;
    return 'unread';
  }

  private storeAlias(syncId: string, id: number): boolean {
    const isNew = !this.storedAliases.has(syncId) && !this.aliases.has(syncId);
    if (isNew && this.addedAliases >= this.loaded.room.aliases) return false;
    if (isNew) this.addedAliases += 1;
    this.aliases.set(syncId, id);
    return true;
  }

  private survivorOf(id: number): number {
    let last = id;
    for (let next = this.survivors.get(last); next !== undefined; next = this.survivors.get(last)) last = next;
    return last;
  }

  private add(row: EpisodeRow): void {
    this.rows.set(row.id, row);
    this.index.add(row);
    this.bySync.set(row.syncId, row.id);
  }
}
