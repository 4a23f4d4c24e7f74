import { randomUUID } from 'node:crypto';
import { metadataNames, unknownMetadata } from '#contracts';
import {
  type EpisodeRow,
  type Identity,
  areEqualForClients,
  type Metadata,
  type SentMetadata,
} from './episode.rules.js';
import { MatchIndex, type Rank } from './match.rules.js';

/** Rank of lookups by sync_id in {@link UploadData.incomplete}. Others have a {@link Rank}. */
const bySyncIdRank = 0;

/** A live subscription that an upload refers to by a guid or feed URL. */
export interface ReferencedSubscription {
  id: number;
  currentGuid: string;
}

/**
 * The data that was read for an upload: the subscriptions that it refers to, and the candidates,
 * which are the episodes that entries can match.
 */
export interface UploadData {
  /**
   * The episodes that were read. `identified`: only those found by sync_id, alias or episode_guid.
   * `all`: all candidates. `none`: the identified ones were too large.
   */
  reach: 'none' | 'identified' | 'all';
  /** By the guid or feed URL that the upload sent. */
  subscriptions: [name: string, ReferencedSubscription][];
  episodes: EpisodeRow[];
  aliases: [syncId: string, episodeId: number][];
  /**
   * Lookups (by rank or by sync_id) that omitted candidates because of the limits of one upload.
   * Each lookup read all candidates with ids up to `completeTo`.
   */
  incomplete: [entry: number, rank: typeof bySyncIdRank | Rank, completeTo: number][];
  /** Reserved ids for new episodes. */
  newIds: number[];
  /** The number of further episodes and aliases that the quotas allow. */
  remaining: { episodes: number; aliases: number };
}

/** The changes of an upload, for the statements that write it. */
export interface EpisodeChanges {
  rows: EpisodeRow[];
  /** Ids of new rows. */
  inserted: ReadonlySet<number>;
  /** Ids of stored rows with changed metadata. */
  changedMetadata: ReadonlySet<number>;
  /** Ids of stored rows with a changed status or stamp. */
  changedStates: ReadonlySet<number>;
  /** The sync_ids of stored rows whose episode_guid changes from one guid to another. */
  renamed: string[];
  /** New aliases, and stored aliases that move to another episode. */
  aliases: [syncId: string, episodeId: number][];
  /** The number of new aliases. */
  addedAliases: number;
  /** Ids of the merged episodes and of their survivors. */
  absorbed: { from: number; into: number }[];
  /** The number of absorbed rows that were stored before this upload. */
  removed: number;
}

/**
 * The episodes that one upload has read, and its changes so far (identity map and unit of work).
 * - A sync_id permanently names one episode of the user, or after a merge its survivor. The quota
 *   of aliases is the exception: beyond it, a merge deletes the sync_id of the absorbed episode.
 * - No two episodes of a subscription have the same episode_guid.
 * - A lookup returns `'unread'` if an episode that was not read can be the match. If only
 *   identified episodes were read, `isIncomplete` then becomes true: the caller discards all
 *   results and reads all candidates.
 */
export class EpisodeSet {
  private readonly subscriptions: Map<string, ReferencedSubscription>;
  private readonly storedRows: ReadonlyMap<number, EpisodeRow>;
  private readonly rows = new Map<number, EpisodeRow>();
  private readonly index: MatchIndex;
  private readonly idsBySyncId = new Map<string, number>();
  /** By "entry rank" of an incomplete lookup: the row id up to which all candidates were read. */
  private readonly completeTo: Map<string, number>;
  private readonly changedIds = new Set<number>();
  /** New and moved aliases: the row id of the episode, by sync_id. */
  private readonly aliases = new Map<string, number>();
  private readonly storedAliases: ReadonlySet<string>;
  private addedAliases = 0;
  private usedIdCount = 0;
  /** The survivor of each absorbed episode, by id. */
  private readonly survivors = new Map<number, number>();
  private needsAllCandidates: boolean;

  constructor(
    private readonly candidates: UploadData,
    private readonly stamp: string,
    /** Arrival of the request, in milliseconds since 1970. It replaces future status times. */
    readonly arrivedMs: number,
  ) {
    const { reach, subscriptions, episodes, aliases, incomplete } = candidates;
    this.needsAllCandidates = reach === 'none';
    this.index = new MatchIndex(reach === 'all' ? 4 : 1);
    this.subscriptions = new Map(subscriptions);
    this.storedAliases = new Set(aliases.map(([syncId]) => syncId));
    this.storedRows = new Map(episodes.map((row) => [row.id, row]));
    this.completeTo = new Map(incomplete.map(([entry, rank, to]) => [`${entry} ${rank}`, to]));
    for (const row of episodes) this.addRow(row);
    for (const [syncId, id] of aliases) if (this.rows.has(id)) this.idsBySyncId.set(syncId, id);
  }

  findSubscription(name: string): ReferencedSubscription | undefined {
    return this.subscriptions.get(name);
  }

  /** True if the caller must read all candidates and start again. */
  get isIncomplete(): boolean {
    return this.needsAllCandidates;
  }

  /** Returns the episode with the sync_id or alias that the entry with index `entry` sent. */
  bySyncId(syncId: string, entry: number): EpisodeRow | undefined | 'unread' {
    const id = this.idsBySyncId.get(syncId);
    if (id !== undefined) return this.byId(id);
    return this.completeTo.has(`${entry} ${bySyncIdRank}`) ? 'unread' : undefined;
  }

  /** Returns the match with the lowest rank, then the lowest row id; undefined without a match. */
  findMatch(
    subscriptionId: number,
    lookup: Identity,
    entry: number,
  ): EpisodeRow | undefined | 'unread' {
    const best = this.index.find(subscriptionId, lookup);
    if (!best && !this.hasAllCandidates) return this.requireAllCandidates();
    for (const rank of [1, 2, 3, 4] as const) {
      const id = best?.rank === rank ? best.id : Infinity;
      // An unread episode can have a lower rank than `best`, or the same rank and a lower id.
      if (id > (this.completeTo.get(`${entry} ${rank}`) ?? Infinity)) return 'unread';
      if (best?.rank === rank) break;
    }
    return best && this.rows.get(best.id);
  }

  /**
   * Returns the other episodes that an entry proves to be the same as its match `row`, to merge
   * into it:
   * - the episode with the entry's episode_guid;
   * - if the row has no enclosure_url, the episodes with the sent URL and without an episode_guid.
   */
  duplicatesOf(row: EpisodeRow, sent: SentMetadata, entry: number): EpisodeRow[] | 'unread' {
    const { episodeGuid = '', enclosureUrl } = sent;
    const sameGuid = this.index.find(row.subscriptionId, { ...unknownMetadata, episodeGuid });
    if (!sameGuid && episodeGuid !== '' && this.completeTo.has(`${entry} 1`)) return 'unread';
    const addsUrl = row.enclosureUrl === '' && enclosureUrl !== undefined;
    if (addsUrl && !this.hasAllCandidates) return this.requireAllCandidates();
    if (addsUrl && this.completeTo.has(`${entry} 2`)) return 'unread';
    const sameUrlIds = addsUrl ? this.index.findWithoutGuid(row.subscriptionId, enclosureUrl) : [];
    const ids = sameGuid ? [sameGuid.id, ...sameUrlIds] : sameUrlIds;
    return ids.filter((id) => id !== row.id).map((id) => this.byId(id));
  }

  /** True if the quota of episodes allows another episode. */
  get allowsNewEpisode(): boolean {
    return this.candidates.remaining.episodes > 0;
  }

  /** Returns a new row with the next reserved id. {@link setRow} adds the row to the changes. */
  draftRow(subscriptionId: number, metadata: Metadata, syncId: string = randomUUID()): EpisodeRow {
    const id = this.candidates.newIds[this.usedIdCount];
    if (id === undefined)
      throw new Error('reserved episode ids exhausted: more new episodes than entries (bug)');
    this.usedIdCount += 1;
    const { episodeGuid, title, publishDate, enclosureUrl, episodeUrl, duration } = metadata;
    // The fields are named one by one, because V8 copies an object with computed field names ten
    // times as slowly.
    const fields = { episodeGuid, title, publishDate, enclosureUrl, episodeUrl, duration };
    return { id, subscriptionId, syncId, changed: this.stamp, statuses: {}, ...fields };
  }

  /**
   * Replaces or adds a row in memory; {@link changes} returns it later. Removes the `absorbed`
   * rows. Their sync_ids become aliases of the row. New aliases above the quota are lost.
   */
  setRow(row: EpisodeRow, absorbed: readonly EpisodeRow[] = []): void {
    for (const absorbedRow of absorbed) {
      this.index.remove(absorbedRow);
      this.rows.delete(absorbedRow.id);
      this.changedIds.delete(absorbedRow.id);
      this.survivors.set(absorbedRow.id, row.id);
      this.candidates.remaining.episodes += 1;
      this.storeAlias(absorbedRow.syncId, row.id);
    }
    const oldRow = this.rows.get(row.id);
    if (oldRow === row) return;
    if (!oldRow) this.candidates.remaining.episodes -= 1;
    this.changedIds.add(row.id);
    // Most entries only change a status. The index contains no statuses and needs no update.
    if (oldRow && metadataNames.every((name) => oldRow[name] === row[name])) {
      this.rows.set(row.id, row);
      return;
    }
    if (oldRow) this.index.remove(oldRow);
    this.addRow(row);
  }

  /** Makes a sync_id an alias of an episode, unless the quota of aliases is reached. */
  addAlias(id: number, syncId: string): void {
    const ownerId = this.idsBySyncId.get(syncId);
    if (ownerId !== undefined && this.findSurvivorId(ownerId) === id) return;
    if (this.storeAlias(syncId, id)) this.idsBySyncId.set(syncId, id);
  }

  /** Returns the episode with an id, or its survivor. */
  byId(id: number): EpisodeRow {
    return this.rows.get(this.findSurvivorId(id)) as EpisodeRow;
  }

  /**
   * Returns the changes. A row gets the stamp if it is new, absorbed another row, or has a value
   * that clients see differently.
   */
  changes(): EpisodeChanges {
    const survivorIds = new Set([...this.survivors.keys()].map((id) => this.findSurvivorId(id)));
    const rows = [...this.changedIds].map((id) => {
      const [row, storedRow] = [this.byId(id), this.storedRows.get(id)];
      return {
        ...row,
        changed:
          storedRow && !survivorIds.has(id) && areEqualForClients(storedRow, row)
            ? storedRow.changed
            : this.stamp,
      };
    });
    const rowsWithNewGuid = rows.filter(({ id, episodeGuid }) => {
      const storedGuid = this.storedRows.get(id)?.episodeGuid ?? '';
      return storedGuid !== '' && storedGuid !== episodeGuid;
    });
    const selectIds = (isChanged: (before: EpisodeRow, row: EpisodeRow) => boolean) =>
      new Set(
        rows.flatMap((row) => {
          const storedRow = this.storedRows.get(row.id);
          return storedRow && isChanged(storedRow, row) ? [row.id] : [];
        }),
      );
    return {
      rows,
      inserted: new Set(rows.map(({ id }) => id).filter((id) => !this.storedRows.has(id))),
      changedMetadata: selectIds((before, row) =>
        metadataNames.some((name) => before[name] !== row[name]),
      ),
      changedStates: selectIds(
        (before, row) => before.changed !== row.changed || before.statuses !== row.statuses,
      ),
      renamed: rowsWithNewGuid.map((row) => row.syncId),
      aliases: [...this.aliases].map(([syncId, id]) => [syncId, this.findSurvivorId(id)]),
      addedAliases: this.addedAliases,
      absorbed: [...this.survivors.keys()].map((id) => ({
        from: id,
        into: this.findSurvivorId(id),
      })),
      removed: [...this.survivors.keys()].filter((id) => this.storedRows.has(id)).length,
    };
  }

  /** True if all candidates were read, except for those of `incomplete`. */
  private get hasAllCandidates(): boolean {
    return this.candidates.reach === 'all';
  }

  /** Makes `isIncomplete` true, because a lookup needs candidates that were not read. */
  private requireAllCandidates(): 'unread' {
    this.needsAllCandidates = true;
    return 'unread';
  }

  /** Adds or moves an alias. @returns false, without adding, for a new alias above the quota. */
  private storeAlias(syncId: string, id: number): boolean {
    const isNew = !this.storedAliases.has(syncId) && !this.aliases.has(syncId);
    if (isNew && this.addedAliases >= this.candidates.remaining.aliases) return false;
    if (isNew) this.addedAliases += 1;
    this.aliases.set(syncId, id);
    return true;
  }

  private findSurvivorId(id: number): number {
    let survivorId = id;
    let nextId = this.survivors.get(id);
    while (nextId !== undefined) {
      survivorId = nextId;
      nextId = this.survivors.get(nextId);
    }
    return survivorId;
  }

  private addRow(row: EpisodeRow): void {
    this.rows.set(row.id, row);
    this.index.add(row);
    this.idsBySyncId.set(row.syncId, row.id);
  }
}
