import {
  episodeStatuses,
  type MetadataName,
  metadataNames,
  type Status,
  type StatusName,
  statusNames,
  wireNames,
} from '#contracts';
import { type Bound, statement, type Transaction } from '#database';
import type { Upload } from './upload.rules.js';
import type { EpisodeQuotas } from './episode.config.js';
import { selectAllCandidates, selectIdentifiedEpisodes } from './episode.sql.js';
import { comparableEnclosure, type EpisodeRow } from './episode.rules.js';
import type { UploadData, EpisodeChanges } from './episode-set.js';

export { selectAllCandidates, selectIdentifiedEpisodes };

/**
 * Deletes absorbed episodes, moves their aliases to the survivors, and clears episode_guids that
 * change. Must run before the statements that can assign these guids to other rows. $1 user, $2
 * absorbed ids, $3 ids of their survivors, $4 sync_ids of rows with a changed episode_guid.
 */
const releaseUniqueKeys = statement(
  'episode.release_unique_keys',
  `WITH states AS (
     DELETE FROM episode.states WHERE user_id = $1 AND id = ANY ($2::bigint[]) RETURNING sync_id
   ), deleted AS (
     DELETE FROM episode.episodes
     WHERE user_id = $1 AND sync_id = ANY (ARRAY(SELECT sync_id FROM states))
   ), aliases AS (
     UPDATE episode.sync_ids s SET episode_id = a.survivor
     FROM unnest($2::bigint[], $3::bigint[]) a (absorbed, survivor)
     WHERE s.user_id = $1 AND s.episode_id = a.absorbed
   )
   UPDATE episode.episodes SET episode_guid = ''
   WHERE user_id = $1 AND sync_id = ANY ($4::uuid[])`,
);

const typesOfMetadata: { [Name in MetadataName]?: string } = {
  publishDate: 'timestamptz',
  duration: 'double precision',
};
/** The columns of metadata with their types, in the order of {@link updateMetadata}. */
export const metadataColumns: ReadonlyMap<string, string> = new Map([
  ...metadataNames.map((name): [string, string] => [
    wireNames[name],
    typesOfMetadata[name] ?? 'text',
  ]),
  ['comparable_enclosure_url', 'text'],
]);
/** The columns that change in a state with their types, in the order of {@link updateStates}. */
export const stateColumns: ReadonlyMap<string, string> = new Map([
  ['changed', 'timestamptz'],
  ['minute_forms', 'smallint'],
  ...statusNames.flatMap((name): [string, string][] => [
    [wireNames[name], episodeStatuses[name].columnType],
    [`${wireNames[name]}_at`, 'timestamptz'],
  ]),
]);
const episodeColumnNames = ['id', 'subscription_id', 'sync_id', ...metadataColumns.keys()].join(
  ', ',
);
const stateColumnNames = ['id', 'sync_id', ...stateColumns.keys()].join(', ');

/**
 * Returns the SQL that updates existing rows. $1 user, $2 array of row keys. Each further parameter
 * is an array with the new values of one column, in the order of the keys. A join with the values
 * could scan all values, or all rows of the user, for each row, because Postgres cannot estimate
 * their numbers. Values in JSON would be parsed several times as slowly.
 */
const buildUpdateSql = (
  table: string,
  key: 'id' | 'sync_id',
  keyType: 'bigint' | 'uuid',
  columns: ReadonlyMap<string, string>,
) => {
  const values = [...columns.values()].map((type, index) => `($${index + 3}::${type}[])[place]`);
  return `
   UPDATE episode.${table} t
   SET (${[...columns.keys()].join(', ')}) = (
     SELECT ${values.join(', ')}
     FROM (SELECT array_position($2::${keyType}[], t.${key}) AS place OFFSET 0) p
   )
   WHERE t.user_id = $1 AND t.${key} = ANY ($2)`;
};

/** Inserts episodes with their states. $1 user, $2 JSON array of rows. */
const insertEpisodes = statement(
  'episode.insert_episodes',
  `WITH new_episodes AS (
     INSERT INTO episode.episodes (user_id, ${episodeColumnNames})
     SELECT $1, ${episodeColumnNames} FROM json_populate_recordset(NULL::episode.episodes, $2)
   )
   INSERT INTO episode.states (user_id, ${stateColumnNames})
   SELECT $1, ${stateColumnNames} FROM json_populate_recordset(NULL::episode.states, $2)`,
);

/** Updates metadata. $1 user, $2 sync_ids, then the values of each column. */
export const updateMetadata = statement(
  'episode.update_metadata',
  buildUpdateSql('episodes', 'sync_id', 'uuid', metadataColumns),
);

/** Updates states. $1 user, $2 row ids, then the values of each column. */
export const updateStates = statement(
  'episode.update_states',
  buildUpdateSql('states', 'id', 'bigint', stateColumns),
);

/** Inserts or moves aliases. $1 user, $2 JSON array of [sync_id, row id of the episode]. */
const addAliases = statement(
  'episode.add_aliases',
  `INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
   SELECT $1, (a ->> 0)::uuid, (a ->> 1)::bigint FROM json_array_elements($2) a
   ON CONFLICT (user_id, sync_id) DO UPDATE SET episode_id = excluded.episode_id`,
);

/**
 * Adds to the counts of a user's episodes and aliases. $1 user, $2 increment of episodes (can be
 * negative), $3 increment of aliases.
 */
const updateTotals = statement(
  'episode.update_totals',
  `INSERT INTO episode.totals AS t (user_id, episodes, sync_ids)
   VALUES ($1, greatest($2::bigint, 0), $3::bigint)
   ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + $2, sync_ids = t.sync_ids + $3`,
);

/** The columns of all statuses: value and time, both null if the status is not set. */
export type StatusFields = Record<StatusName, Status['value'] | null> &
  Record<`${StatusName}At`, string | null>;
/** An episode with its state, as statements return it. {@link toEpisodeRow} converts it. */
export type StateRow = Omit<EpisodeRow, 'statuses'> & StatusFields & { minuteForms: number };
/** The result of {@link selectAllCandidates}; empty arrays are null. */
export type UploadDataResult = {
  [Part in Exclude<keyof UploadData, 'episodes'>]: UploadData[Part] | null;
} & { episodes: StateRow[] | null };

/** A row of {@link selectIdentifiedEpisodes}; {@link toIdentifiedData} converts all of them. */
export type IdentifiedRow = StateRow & Omit<UploadDataResult, 'episodes'>;

/**
 * Returns the statement that reads episodes by sync_id, alias or episode_guid only, for
 * {@link toIdentifiedData}.
 */
export function selectIdentified(
  userId: string,
  uploads: readonly Upload[],
  quotas: EpisodeQuotas,
): Bound<IdentifiedRow> {
  return [
    selectIdentifiedEpisodes,
    [
      userId,
      uploads.map(({ podcast }) => podcast),
      uploads.map(({ syncId }) => syncId),
      uploads.map(({ metadata }) => metadata.episodeGuid),
      quotas.QUOTA_EPISODE_STATES,
      quotas.QUOTA_SYNC_ID_ALIASES,
    ],
  ];
}

/**
 * Returns the data of {@link selectIdentifiedEpisodes}. `reach` is null in each row that has an
 * episode.
 */
export function toIdentifiedData(rows: readonly IdentifiedRow[]): UploadData {
  const head = rows.find(({ reach }) => reach !== null) as IdentifiedRow;
  return toUploadData([{ ...head, episodes: rows.filter(({ reach }) => reach === null) }]);
}

/**
 * Returns the statement that reads match candidates of all ranks, up to 2,000 rows and 6 MiB
 * (`incomplete` lists omissions), for {@link toUploadData}.
 */
export function selectCandidates(
  userId: string,
  uploads: readonly Upload[],
  quotas: EpisodeQuotas,
): Bound<UploadDataResult> {
  const entries = uploads.map(({ podcast, syncId, metadata }, entry) => ({
    entry,
    podcastGuid: podcast,
    syncId,
    ...metadata,
    enclosureUrl: comparableEnclosure(metadata.enclosureUrl ?? '') ?? metadata.enclosureUrl,
  }));
  const quotaValues = [quotas.QUOTA_EPISODE_STATES, quotas.QUOTA_SYNC_ID_ALIASES];
  return [selectAllCandidates, [userId, JSON.stringify(entries), uploads.length, ...quotaValues]];
}

/** Returns the data of {@link selectAllCandidates}. Data that was not read is empty or 0. */
export function toUploadData([result]: readonly UploadDataResult[]): UploadData {
  return {
    subscriptions: result?.subscriptions ?? [],
    aliases: result?.aliases ?? [],
    reach: result?.reach ?? 'all',
    incomplete: result?.incomplete ?? [],
    episodes: (result?.episodes ?? []).map(toEpisodeRow),
    newIds: result?.newIds ?? [],
    remaining: result?.remaining ?? { episodes: 0, aliases: 0 },
  };
}

/**
 * Writes changes. All statements run with the commit, except {@link releaseUniqueKeys}, which runs
 * immediately.
 */
export async function saveChanges(
  transaction: Transaction,
  userId: string,
  changes: EpisodeChanges,
): Promise<void> {
  const { rows, absorbed, renamed, aliases } = changes;
  if (absorbed.length > 0 || renamed.length > 0) {
    const [from, into] = [absorbed.map((pair) => pair.from), absorbed.map((pair) => pair.into)];
    await transaction.query(releaseUniqueKeys, [userId, from, into, renamed]);
  }
  const selectRows = (ids: ReadonlySet<number>) => rows.filter(({ id }) => ids.has(id));
  const { inserted, changedMetadata, changedStates } = changes;
  if (inserted.size > 0)
    transaction.sendWithCommit(insertEpisodes, [
      userId,
      // Object.assign is several times as fast in V8 as spreading both objects into a new one.
      JSON.stringify(
        selectRows(inserted).map((row) => Object.assign(identityValues(row), stateValues(row))),
      ),
    ]);
  if (changedMetadata.size > 0)
    transaction.sendWithCommit(updateMetadata, [
      userId,
      ...arraysOf(
        ['sync_id', ...metadataColumns.keys()],
        selectRows(changedMetadata).map(identityValues),
      ),
    ]);
  if (changedStates.size > 0)
    transaction.sendWithCommit(updateStates, [
      userId,
      ...arraysOf(['id', ...stateColumns.keys()], selectRows(changedStates).map(stateValues)),
    ]);
  if (aliases.length > 0) transaction.sendWithCommit(addAliases, [userId, JSON.stringify(aliases)]);
  const addedEpisodes = inserted.size - changes.removed;
  const { addedAliases } = changes;
  if (addedEpisodes !== 0 || addedAliases > 0)
    transaction.sendWithCommit(updateTotals, [userId, addedEpisodes, addedAliases]);
}

/** Returns the values of all rows by column, for {@link updateMetadata} and the like. */
export function arraysOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): unknown[][] {
  return columns.map((column) => rows.map((row) => row[column]));
}

/** Names and bit of each status. Built once, because a page has hundreds of statuses. */
const statusFields = statusNames.map((name, index) => ({
  name,
  at: `${name}At` as const,
  mask: 1 << index,
}));

/**
 * Returns the statuses of a row that are set, each converted by `convert`. `mask` is the bit of the
 * status in `minute_forms`.
 */
export function statusesOf<Converted>(
  row: StatusFields,
  convert: (value: Status['value'], at: string, mask: number) => Converted,
) {
  const statuses: Partial<Record<StatusName, Converted>> = {};
  for (const { name, at: nameOfTime, mask } of statusFields) {
    const [value, at] = [row[name], row[nameOfTime]];
    if (value !== null && at !== null) statuses[name] = convert(value, at, mask);
  }
  return statuses;
}

/** Converts `2023-02-23 14:00:00.5` (Postgres, UTC) to ISO 8601 with microseconds. */
const toIsoMicroseconds = (time: string) =>
  `${time.slice(0, 10)}T${time.slice(11, 19)}.${time.slice(20).padEnd(6, '0')}Z`;
/** Converts `2023-02-23 14:00:00.5` (Postgres, UTC) to ISO 8601 with milliseconds. */
const toIsoMilliseconds = (time: string) => `${toIsoMicroseconds(time).slice(0, 23)}Z`;

/** Converts a row that {@link selectIdentifiedEpisodes} or {@link selectAllCandidates} has read. */
export function toEpisodeRow(read: StateRow): EpisodeRow {
  return {
    id: read.id,
    subscriptionId: read.subscriptionId,
    syncId: read.syncId,
    episodeGuid: read.episodeGuid,
    title: read.title,
    enclosureUrl: read.enclosureUrl,
    episodeUrl: read.episodeUrl,
    duration: read.duration,
    publishDate: toIsoMilliseconds(read.publishDate),
    changed: toIsoMilliseconds(read.changed),
    statuses: statusesOf(read, (value, at, mask) => ({
      value,
      at: toIsoMicroseconds(at),
      minuteForm: (read.minuteForms & mask) !== 0,
    })),
  };
}

/** Returns the identity and metadata of a row by column name. */
export function identityValues(row: EpisodeRow): Record<string, unknown> {
  const { id, subscriptionId, syncId } = row;
  const values: Record<string, unknown> = { id, subscription_id: subscriptionId, sync_id: syncId };
  for (const name of metadataNames) values[wireNames[name]] = row[name];
  values.comparable_enclosure_url = comparableEnclosure(row.enclosureUrl);
  return values;
}

/** Returns the id and the mutable state of a row by column name. */
export function stateValues({
  id,
  syncId,
  changed,
  statuses,
}: EpisodeRow): Record<string, unknown> {
  const values: Record<string, unknown> = { id, sync_id: syncId, changed };
  let minuteForms = 0;
  for (const [index, name] of statusNames.entries()) {
    const status = statuses[name];
    if (!status) continue;
    values[wireNames[name]] = status.value;
    values[`${wireNames[name]}_at`] = status.at;
    if (status.minuteForm) minuteForms |= 1 << index;
  }
  values.minute_forms = minuteForms;
  return values;
}
