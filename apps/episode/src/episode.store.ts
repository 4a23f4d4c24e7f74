import {
  type listEpisodes,
  type ListRequest,
  metadataNames,
  type ReplyOf,
  type Status,
  type StatusName,
  statusNames,
  wireNames,
} from '#contracts';
import {
  type Bound,
  type Database,
  listing,
  listPage,
  type Statement,
  statement,
  type Transaction,
} from '#database';
import type { Upload } from './upload.rule.js';
import type { EpisodeQuotas } from './episode.config.js';
import { load, loadKnown, shownColumns } from './episode.load.js';
import { comparableEnclosure, type EpisodeRow, type Metadata, shown } from './episode.rule.js';
import type { Changes, Loaded } from './known-episodes.js';

export { load, loadKnown };

/**
 * $1 user, $2 absorbed ids, $3 their survivors, $4 sync_ids of rows whose episode_guid is about to
 * change. Runs before the other statements, so that no row takes an episode_guid that another one
 * still has.
 */
const makeWay = statement(
  'episode.make_way',
  `WITH states AS (
     DELETE FROM episode.states WHERE user_id = $1 AND id = ANY ($2::bigint[]) RETURNING sync_id
   ), gone AS (
     DELETE FROM episode.episodes WHERE user_id = $1 AND sync_id = ANY (ARRAY(SELECT sync_id FROM states))
   ), aliases AS (
     UPDATE episode.sync_ids s SET episode_id = a.survivor
     FROM unnest($2::bigint[], $3::bigint[]) a (absorbed, survivor)
     WHERE s.user_id = $1 AND s.episode_id = a.absorbed
   )
   UPDATE episode.episodes SET episode_guid = '' WHERE user_id = $1 AND sync_id = ANY ($4::uuid[])`,
);

const describing = [...metadataNames.map((name) => wireNames[name]), 'comparable_enclosure_url'];
const identity = ['id', 'subscription_id', 'sync_id', ...describing].join(', ');
const changing = [
  'changed',
  'minute_forms',
  ...statusNames.flatMap((name) => [wireNames[name], `${wireNames[name]}_at`]),
];
const state = ['id', 'sync_id', ...changing].join(', ');
/**
 * Returns the SQL that sets columns of existing rows. Each row reads its values from one object by
 * key. A join can scan all values for each row, or all rows of the user: Postgres cannot estimate
 * either number.
 */
const update = (
  table: string,
  key: 'id' | 'sync_id',
  type: 'bigint' | 'uuid',
  columns: readonly string[],
) => `
   UPDATE episode.${table} t
   SET (${columns.join(', ')}) = (
     SELECT ${columns.map((column) => `r.${column}`).join(', ')}
     FROM jsonb_populate_record(NULL::episode.${table}, $2::jsonb -> t.${key}::text) r
   )
   WHERE t.user_id = $1 AND t.${key} = ANY ($3::${type}[])`;

/** $1 user, $2 new episodes with their states. */
const add = statement(
  'episode.add',
  `WITH made AS (
     INSERT INTO episode.episodes (user_id, ${identity})
     SELECT $1, ${identity} FROM json_populate_recordset(NULL::episode.episodes, $2)
   )
   INSERT INTO episode.states (user_id, ${state})
   SELECT $1, ${state} FROM json_populate_recordset(NULL::episode.states, $2)`,
);

/** $1 user, $2 changed metadata of stored episodes by sync_id, $3 these sync_ids. */
export const describe = statement(
  'episode.describe',
  update('episodes', 'sync_id', 'uuid', describing),
);

/** $1 user, $2 changed states by id, $3 these ids. */
export const settle = statement('episode.settle', update('states', 'id', 'bigint', changing));

/** $1 user, $2 further sync_ids and the episodes that they name. */
const addAliases = statement(
  'episode.add_aliases',
  `INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
   SELECT $1, (a ->> 0)::uuid, (a ->> 1)::bigint FROM json_array_elements($2) a
   ON CONFLICT (user_id, sync_id) DO UPDATE SET episode_id = excluded.episode_id`,
);

/** $1 user, $2 increment of the number of episodes (can be negative), $3 increment of aliases. */
const count = statement(
  'episode.count',
  `INSERT INTO episode.totals AS t (user_id, episodes, sync_ids) VALUES ($1, greatest($2::bigint, 0), $3::bigint)
   ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + $2, sync_ids = t.sync_ids + $3`,
);

export const list = listing('episode.list', {
  row: 's',
  columns: `s.id, g.guid AS "podcastGuid", ${shownColumns((time) => time)}`,
  matching: 'episode.states s',
  beside: `episode.episodes e
    LEFT JOIN subscription.current_guids g ON g.user_id = $1 AND g.subscription_id = e.subscription_id
    WHERE e.user_id = $1 AND e.sync_id = s.sync_id`,
  total: 'SELECT t.episodes FROM episode.totals t WHERE t.user_id = $1',
});

export type StatusFields = Record<StatusName, Status['value'] | null> &
  Record<`${StatusName}At`, string | null>;
export type LoadedRow = Omit<EpisodeRow, 'statuses'> & StatusFields & { minuteForms: number };
type ListRow = Metadata & StatusFields & { podcastGuid: string; syncId: string };
export type Found = { [Part in Exclude<keyof Loaded, 'episodes'>]: Loaded[Part] | null } & {
  episodes: LoadedRow[] | null;
};

/** Returns the statement for episodes that entries name; see {@link toLoaded}. */
export function named(
  userId: string,
  uploads: readonly Upload[],
  quotas: EpisodeQuotas,
): Bound<Found> {
  const entries = uploads.map(({ podcast, syncId, metadata: { episodeGuid } }) => ({
    podcastGuid: podcast,
    syncId,
    episodeGuid,
  }));
  return [
    loadKnown,
    [userId, JSON.stringify(entries), quotas.QUOTA_EPISODE_STATES, quotas.QUOTA_SYNC_ID_ALIASES],
  ];
}

/** Returns the statement for all episodes that entries can match; see {@link toLoaded}. */
export function meant(
  userId: string,
  uploads: readonly Upload[],
  quotas: EpisodeQuotas,
): Bound<Found> {
  const entries = uploads.map(({ podcast, syncId, metadata }, entry) => ({
    entry,
    podcastGuid: podcast,
    syncId,
    ...metadata,
    enclosureUrl: comparableEnclosure(metadata.enclosureUrl ?? '') ?? metadata.enclosureUrl,
  }));
  const most = [quotas.QUOTA_EPISODE_STATES, quotas.QUOTA_SYNC_ID_ALIASES];
  return [load, [userId, JSON.stringify(entries), uploads.length, ...most]];
}

export function toLoaded([found]: readonly Found[]): Loaded {
  return {
    subscriptions: found?.subscriptions ?? [],
    aliases: found?.aliases ?? [],
    reach: found?.reach ?? 'all',
    incomplete: found?.incomplete ?? [],
    episodes: (found?.episodes ?? []).map(toRow),
    newIds: found?.newIds ?? [],
    room: found?.room ?? { episodes: 0, aliases: 0 },
  };
}

/** Writes changes with the commit, but merges and changes of guids before it. */
export async function saveChanges(
  transaction: Transaction,
  userId: string,
  changes: Changes,
): Promise<void> {
  const { rows, made, described, settled, renamed, aliases, addedAliases, absorbed, removed } =
    changes;
  if (absorbed.length > 0 || renamed.length > 0) {
    const [gone, survivors] = [absorbed.map(({ from }) => from), absorbed.map(({ into }) => into)];
    await transaction.query(makeWay, [userId, gone, survivors, renamed]);
  }
  const written = (ids: ReadonlySet<number>) => rows.filter(({ id }) => ids.has(id));
  if (made.size > 0)
    transaction.last(add, [userId, `[${written(made).map(columnsText).join(',')}]`]);
  const last = (
    query: Statement,
    ids: ReadonlySet<number>,
    key: 'id' | 'syncId',
    columns: (row: EpisodeRow) => object,
  ) => {
    if (ids.size === 0) return;
    const byKey = new Map(written(ids).map((row) => [row[key], columns(row)]));
    transaction.last(query, [userId, JSON.stringify(Object.fromEntries(byKey)), [...byKey.keys()]]);
  };
  last(describe, described, 'syncId', identityColumns);
  last(settle, settled, 'id', stateColumns);
  if (aliases.length > 0) transaction.last(addAliases, [userId, JSON.stringify(aliases)]);
  const more = made.size - removed;
  if (more !== 0 || addedAliases > 0) transaction.last(count, [userId, more, addedAliases]);
}

export function listChanged(
  database: Database,
  request: ListRequest,
): Promise<ReplyOf<typeof listEpisodes>> {
  return listPage(database, list, request, (row: ListRow) =>
    shown(
      row,
      statusesOf(row, (value, at) => ({ value, at })),
      row.podcastGuid,
    ),
  );
}

/** Field names of each status, built once: a page has hundreds of them. */
const statusFields = statusNames.map((name, bit) => ({
  name,
  at: `${name}At` as const,
  bit: 1 << bit,
}));

/** Returns the set statuses of a row, each as `read` converts it. */
export function statusesOf<Register>(
  row: StatusFields,
  read: (value: Status['value'], at: string, bit: number) => Register,
) {
  const statuses: Partial<Record<StatusName, Register>> = {};
  for (const { name, at: nameOfTime, bit } of statusFields) {
    const [value, at] = [row[name], row[nameOfTime]];
    if (value !== null && at !== null) statuses[name] = read(value, at, bit);
  }
  return statuses;
}

/** Converts `2023-02-23T14:00:00.5` (Postgres' JSON, no zone) to the form of {@link Status}. */
const instant = (time: string) => `${time.slice(0, 19)}.${time.slice(20).padEnd(6, '0')}Z`;
const stamp = (time: string) => `${instant(time).slice(0, 23)}Z`;

/** Converts a row that {@link load} has read. */
export function toRow(loaded: LoadedRow): EpisodeRow {
  const {
    id,
    subscriptionId,
    syncId,
    episodeGuid,
    title,
    enclosureUrl,
    episodeUrl,
    duration,
    minuteForms,
  } = loaded;
  return {
    id,
    subscriptionId,
    syncId,
    episodeGuid,
    title,
    enclosureUrl,
    episodeUrl,
    duration,
    publishDate: stamp(loaded.publishDate),
    changed: stamp(loaded.changed),
    statuses: statusesOf(loaded, (value, at, bit) => ({
      value,
      at: instant(at),
      minuteForm: (minuteForms & bit) !== 0,
    })),
  };
}

/** JSON of the names of a new row's columns. */
const describingStarts = metadataNames.map((name) => [name, `,"${wireNames[name]}":`] as const);
const statusStarts = statusNames.map(
  (name) => [name, `,"${wireNames[name]}":`, `,"${wireNames[name]}_at":"`] as const,
);

/** Returns a row's columns as JSON. Objects would cost three times as much for large uploads. */
function columnsText({
  id,
  subscriptionId,
  syncId,
  changed,
  statuses,
  ...described
}: EpisodeRow): string {
  let text = `{"id":${id},"subscription_id":${subscriptionId},"sync_id":"${syncId}","changed":"${changed}"`;
  for (const [name, start] of describingStarts) text += start + JSON.stringify(described[name]);
  const comparable = comparableEnclosure(described.enclosureUrl);
  if (comparable !== null) text += `,"comparable_enclosure_url":${JSON.stringify(comparable)}`;
  let minuteForms = 0;
  for (const [bit, [name, start, startOfTime]] of statusStarts.entries()) {
    const status = statuses[name];
    if (!status) continue;
    text += `${start}${String(status.value)}${startOfTime}${status.at}"`;
    if (status.minuteForm) minuteForms |= 1 << bit;
  }
  return `${text},"minute_forms":${minuteForms}}`;
}

/** Returns the identity and metadata of a row by column name. */
export function identityColumns(row: EpisodeRow): Record<string, unknown> {
  const { id, subscriptionId, syncId } = row;
  const values: Record<string, unknown> = { id, subscription_id: subscriptionId, sync_id: syncId };
  for (const name of metadataNames) values[wireNames[name]] = row[name];
  values.comparable_enclosure_url = comparableEnclosure(row.enclosureUrl);
  return values;
}

/** Returns the id and the mutable state of a row by column name. */
export function stateColumns({
  id,
  syncId,
  changed,
  statuses,
}: EpisodeRow): Record<string, unknown> {
  const values: Record<string, unknown> = { id, sync_id: syncId, changed };
  let minuteForms = 0;
  for (const [bit, name] of statusNames.entries()) {
    const status = statuses[name];
    if (!status) continue;
    values[wireNames[name]] = status.value;
    values[`${wireNames[name]}_at`] = status.at;
    if (status.minuteForm) minuteForms |= 1 << bit;
  }
  values.minute_forms = minuteForms;
  return values;
}
