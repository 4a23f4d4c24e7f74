import { randomUUID } from 'node:crypto';
import { type EpisodeRow, looksAlike, type Metadata } from './episode.rule.js';
import { MatchIndex, type Rank } from './match.rule.js';

/** A live subscription that an upload names. */
export interface NamedSubscription {
  id: number;
  currentGuid: string;
}

/**
 * What was read for an upload: subscriptions by every guid sent, and the episodes that its entries could mean. Where
 * there are more of those than one upload may read, `incomplete` says so: of what an entry, by its place in the upload,
 * finds at a rank (0: by its sync_id), rows above an id may be missing.
 */
export interface Loaded {
  subscriptions: [guid: string, NamedSubscription][];
  episodes: EpisodeRow[];
  aliases: [syncId: string, episodeId: number][];
  incomplete: [entry: number, rank: 0 | Rank, completeTo: number][];
  newIds: number[];
  /** How many more episodes and aliases the quotas leave. */
  room: { episodes: number; aliases: number };
}

/** What an upload changes, as sets. */
export interface Changes {
  rows: EpisodeRow[];
  /** Rows that are there already and get another episode_guid. */
  renamed: number[];
  aliases: [syncId: string, episodeId: number][];
  /** How many of the aliases were none before. */
  addedAliases: number;
  absorbed: { from: number; into: number }[];
}

/**
 * The episodes that one upload is about, in memory, and what it has changed so far. Invariants: a sync_id names one
 * episode of the user for ever; no two episodes of a subscription have the same episode_guid; nothing is said of an
 * entry that rows which were not read could change.
 */
export class KnownEpisodes {
  private readonly subscriptions: Map<string, NamedSubscription>;
  private readonly stored: ReadonlyMap<number, EpisodeRow>;
  private readonly rows = new Map<number, EpisodeRow>();
  private readonly index = new MatchIndex();
  private readonly bySync = new Map<string, number>();
  private readonly completeTo: Map<string, number>;
  private readonly dirty = new Set<number>();
  private readonly aliases = new Map<string, number>();
  private readonly storedAliases: ReadonlySet<string>;
  private addedAliases = 0;
  /** Who took in whom: a change even where nothing of it is seen. */
  private readonly survivors = new Map<number, number>();

  constructor(
    private readonly loaded: Loaded,
    readonly stamp: string,
  ) {
    this.subscriptions = new Map(loaded.subscriptions);
    this.storedAliases = new Set(loaded.aliases.map(([syncId]) => syncId));
    this.stored = new Map(loaded.episodes.map((row) => [row.id, row]));
    this.completeTo = new Map(loaded.incomplete.map(([entry, rank, to]) => [`${entry} ${rank}`, to]));
    for (const row of loaded.episodes) this.add(row);
    for (const [syncId, id] of loaded.aliases) if (this.rows.has(id)) this.bySync.set(syncId, id);
  }

  subscription(guid: string): NamedSubscription | undefined {
    return this.subscriptions.get(guid);
  }

  /** `'unread'` where there is more than was read. */
  bySyncId(syncId: string, entry: number): EpisodeRow | undefined | 'unread' {
    const id = this.bySync.get(syncId);
    if (id !== undefined) return this.standing(id);
    return this.completeTo.has(`${entry} 0`) ? 'unread' : undefined;
  }

  /** The surest match of what an entry describes, of equally sure ones the lowest row id; or `'unread'`. */
  match(subscriptionId: number, sought: Metadata, entry: number): EpisodeRow | undefined | 'unread' {
    const best = this.index.find(subscriptionId, sought);
    for (const rank of [1, 2, 3, 4] as const) {
      const id = best?.rank === rank ? best.id : Infinity;
      // Equally sure ones with a lower id, or surer ones, might be among those that were not read.
      if (id > (this.completeTo.get(`${entry} ${rank}`) ?? Infinity)) return 'unread';
      if (best?.rank === rank) break;
    }
    return best && this.rows.get(best.id);
  }

  /** The one with an episode_guid; or `'unread'`. */
  byEpisodeGuid(subscriptionId: number, episodeGuid: string, entry: number): EpisodeRow | undefined | 'unread' {
    const sought = { episodeGuid, title: '', publishDate: '', enclosureUrl: '', episodeUrl: '' };
    const best = this.index.find(subscriptionId, sought);
    if (best) return this.rows.get(best.id);
    return this.completeTo.has(`${entry} 1`) ? 'unread' : undefined;
  }

  /** Whether the user may have one more episode. */
  get hasRoom(): boolean {
    return this.loaded.room.episodes > 0;
  }

  /** One that is not there yet; {@link keep} makes it be there. */
  draft(subscriptionId: number, metadata: Metadata, syncId: string = randomUUID()): EpisodeRow {
    const id = this.loaded.newIds.shift();
    if (id === undefined) throw new Error('more episodes than entries');
    return { ...metadata, id, subscriptionId, syncId, changed: this.stamp, statuses: {} };
  }

  /** Puts a row in the place of the one with its id, which may have absorbed another. */
  keep(row: EpisodeRow, absorbed?: EpisodeRow): void {
    if (absorbed) {
      this.index.remove(absorbed);
      this.rows.delete(absorbed.id);
      this.dirty.delete(absorbed.id);
      this.survivors.set(absorbed.id, row.id);
      this.loaded.room.episodes += 1;
      this.storeAlias(absorbed.syncId, row.id);
    }
    const before = this.rows.get(row.id);
    if (before === row) return;
    if (before) this.index.remove(before);
    else this.loaded.room.episodes -= 1;
    this.add(row);
    this.dirty.add(row.id);
  }

  /** Makes a sync_id one more name of an episode, where there is room for it. */
  addAlias(id: number, syncId: string): void {
    const named = this.bySync.get(syncId);
    if (named !== undefined && this.survivorOf(named) === id) return;
    if (this.storeAlias(syncId, id)) this.bySync.set(syncId, id);
  }

  /** The episode with an id, or the one that it was absorbed by. */
  standing(id: number): EpisodeRow {
    return this.rows.get(this.survivorOf(id)) as EpisodeRow;
  }

  /** What is to be written. A row is stamped where what is seen of it is not what it was before the upload. */
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
    return {
      rows,
      renamed: renamed.map((row) => row.id),
      aliases: [...this.aliases].map(([syncId, id]) => [syncId, this.survivorOf(id)]),
      addedAliases: this.addedAliases,
      absorbed: [...this.survivors.keys()].map((id) => ({ from: id, into: this.survivorOf(id) })),
    };
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
