import type { ListRequest, ReplyOf, listEpisodes } from '#contracts';
import { type Bound, type Database, listing, listPage, statement, type Transaction } from '#database';
import type { Metadata, Upload } from './episode-entry.rule.js';
import type { EpisodeQuotas } from './episode.config.js';
import { shown } from './shown.episode.js';
import { load } from './episode.load.js';
import { metadataColumns, statusColumns, statusesWith } from './episode.columns.js';
import type { EpisodeRow } from './episode.row.js';
import type { Changes, Loaded } from './known-episodes.js';
import { type Status, type StatusName, statusNames } from './status.rule.js';

export { load };

/** $1 user, $2 absorbed ids, $3 their survivors, $4 ids whose episode_guid is about to change: frees what another row takes. */
const makeWay = statement(
  'episode.make_way',
  `WITH gone AS (
     DELETE FROM episode.episodes WHERE user_id = $1 AND id = ANY ($2::bigint[])
   ), aliases AS (
     UPDATE episode.sync_ids s SET episode_id = a.survivor
     FROM unnest($2::bigint[], $3::bigint[]) a (absorbed, survivor)
     WHERE s.user_id = $1 AND s.episode_id = a.absorbed
   )
   UPDATE episode.episodes SET episode_guid = '' WHERE user_id = $1 AND id = ANY ($4::bigint[])`,
);

const updated = ['subscription_id', 'changed', 'publish_date', 'episode_guid', 'title', 'enclosure_url', 'episode_url']
  .concat(
    statusNames.flatMap((name) => [statusColumns[name], `${statusColumns[name]}_at`]),
    'minute_forms',
  )
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');
const statusList = statusNames.flatMap((name) => [statusColumns[name], `${statusColumns[name]}_at`]).join(', ');
const statusTypes = statusNames
  .map(
    (name) =>
      `${statusColumns[name]} ${name === 'playbackPosition' ? 'double precision' : 'boolean'}, ${statusColumns[name]}_at timestamptz`,
  )
  .join(', ');

export const save = statement(
  'episode.save',
  `WITH rows AS (
     INSERT INTO episode.episodes (
       user_id, id, subscription_id, sync_id, changed, publish_date, episode_guid, title, enclosure_url, episode_url,
       minute_forms, ${statusList}
     )
     SELECT $1, id, subscription_id, sync_id, changed, publish_date, episode_guid, title, enclosure_url, episode_url,
       minute_forms, ${statusList}
     FROM json_to_recordset($2) AS r (
       id bigint, subscription_id bigint, sync_id uuid, changed timestamptz, publish_date timestamptz, episode_guid text,
       title text, enclosure_url text, episode_url text, minute_forms smallint, ${statusTypes}
     )
     ON CONFLICT (user_id, id) DO UPDATE SET ${updated}
   )
   INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
   SELECT $1, (a ->> 0)::uuid, (a ->> 1)::bigint FROM json_array_elements($3) a
   ON CONFLICT (user_id, sync_id) DO UPDATE SET episode_id = excluded.episode_id`,
);

/** $1 user, $2 how many aliases were added. */
export const countAliases = statement(
  'episode.count_aliases',
  `INSERT INTO episode.totals AS t (user_id, sync_ids) VALUES ($1, $2)
   ON CONFLICT (user_id) DO UPDATE SET sync_ids = t.sync_ids + excluded.sync_ids`,
);

export const list = listing('episode.list', {
  row: 'e',
  columns: `e.id, g.guid AS "podcastGuid", ${metadataColumns}, e.publish_date AS "publishDate", ${statusesWith((time) => time)}`,
  from: `episode.episodes e
    LEFT JOIN subscription.current_guids g ON g.user_id = e.user_id AND g.subscription_id = e.subscription_id`,
  matching: 'episode.episodes e',
  total: 'SELECT t.episodes FROM episode.totals t WHERE t.user_id = $1',
});

type StatusFields = Record<StatusName, Status['value'] | null> & Record<`${StatusName}At`, string | null>;
type LoadedRow = Omit<EpisodeRow, 'statuses'> & StatusFields & { minuteForms: number };
type ListRow = Metadata & StatusFields & { podcastGuid: string; syncId: string };
type Found = { [Part in Exclude<keyof Loaded, 'episodes'>]: Loaded[Part] | null } & { episodes: LoadedRow[] | null };

/** What reads the episodes that the entries of an upload could mean; {@link toLoaded} makes sense of what it answers. */
export function meant(userId: string, uploads: readonly Upload[], quotas: EpisodeQuotas): Bound<Found> {
  const entries = uploads.map(({ podcastGuid, syncId, metadata }, entry) => ({
    entry,
    podcastGuid,
    syncId,
    episodeUrl: '',
    ...metadata,
  }));
  const most = [quotas.QUOTA_EPISODE_STATES, quotas.QUOTA_SYNC_ID_ALIASES];
  return [load, [userId, JSON.stringify(entries), uploads.length, ...most]];
}

export function toLoaded([found]: readonly Found[]): Loaded {
  return {
    subscriptions: found?.subscriptions ?? [],
    aliases: found?.aliases ?? [],
    incomplete: found?.incomplete ?? [],
    episodes: (found?.episodes ?? []).map(toRow),
    newIds: found?.newIds ?? [],
    room: found?.room ?? { episodes: 0, aliases: 0 },
  };
}

/** Writes what an upload changed: room for it first where rows are merged or renamed, the rest with the commit. */
export async function saveChanges(transaction: Transaction, userId: string, changes: Changes): Promise<void> {
  const { rows, renamed, aliases, addedAliases, absorbed } = changes;
  if (absorbed.length > 0 || renamed.length > 0) {
    const [gone, survivors] = [absorbed.map(({ from }) => from), absorbed.map(({ into }) => into)];
    await transaction.query(makeWay, [userId, gone, survivors, renamed]);
  }
  if (rows.length > 0 || aliases.length > 0) {
    transaction.last(save, [userId, JSON.stringify(rows.map(toColumns)), JSON.stringify(aliases)]);
  }
  if (addedAliases > 0) transaction.last(countAliases, [userId, addedAliases]);
}

export function listChanged(database: Database, request: ListRequest): Promise<ReplyOf<typeof listEpisodes>> {
  return listPage(database, list, request, (row: ListRow) =>
    shown(row, row.podcastGuid, (name) => {
      const [value, at] = [row[name], row[`${name}At`]];
      return value === null || at === null ? undefined : { value, at };
    }),
  );
}

/** A time without its zone, as Postgres writes it in JSON, as a client's time. */
const instant = (time: string) => `${time.slice(0, 19)}.${time.slice(20).padEnd(6, '0')}Z`;
const stamp = (time: string) => `${instant(time).slice(0, 23)}Z`;

function toRow(loaded: LoadedRow): EpisodeRow {
  const { id, subscriptionId, syncId, episodeGuid, title, enclosureUrl, episodeUrl } = loaded;
  const statuses: Partial<Record<StatusName, Status>> = {};
  for (const [bit, name] of statusNames.entries()) {
    const [value, at] = [loaded[name], loaded[`${name}At`]];
    if (value !== null && at !== null)
      statuses[name] = { value, at: instant(at), minuteForm: (loaded.minuteForms & (1 << bit)) !== 0 };
  }
  return {
    ...{ id, subscriptionId, syncId, episodeGuid, title, enclosureUrl, episodeUrl },
    publishDate: stamp(loaded.publishDate),
    changed: stamp(loaded.changed),
    statuses,
  };
}

function toColumns(row: EpisodeRow): Record<string, unknown> {
  const columns: Record<string, unknown> = {
    id: row.id,
    subscription_id: row.subscriptionId,
    sync_id: row.syncId,
    changed: row.changed,
    publish_date: row.publishDate,
    episode_guid: row.episodeGuid,
    title: row.title,
    enclosure_url: row.enclosureUrl,
    episode_url: row.episodeUrl,
  };
  let minuteForms = 0;
  for (const [bit, name] of statusNames.entries()) {
    const status = row.statuses[name];
    if (!status) continue;
    columns[statusColumns[name]] = status.value;
    columns[`${statusColumns[name]}_at`] = status.at;
    if (status.minuteForm) minuteForms |= 1 << bit;
  }
  columns.minute_forms = minuteForms;
  return columns;
}
