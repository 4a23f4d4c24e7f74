import type { ListRequest, ReplyOf, listEpisodes } from '#contracts';
import { type Bound, type Database, listing, listPage, statement, type Transaction } from '#database';
import type { Metadata, Upload } from './episode-entry.rule.js';
import { shown } from './shown.episode.js';
import type { Changes, EpisodeRow, Loaded } from './known-episodes.js';
import { type Status, type StatusName, statusNames } from './status.rule.js';

/** The column of each status; its time is beside it with `_at`. */
const statusColumns: Record<StatusName, string> = {
  playbackPosition: 'playback_position',
  playedStatus: 'played_status',
  newStatus: 'new_status',
  downloadStatus: 'download_status',
  favoriteStatus: 'favorite_status',
};

/** In JSON, the form of which then does not depend on the session. */
const inUtc = (time: string) => `${time} AT TIME ZONE 'UTC'`;

const metadataColumns = `e.sync_id AS "syncId", e.episode_guid AS "episodeGuid", e.title, e.enclosure_url AS "enclosureUrl",
  e.episode_url AS "episodeUrl"`;
const statusesWith = (time: (column: string) => string) =>
  statusNames
    .map((name) => `e.${statusColumns[name]} AS "${name}", ${time(`e.${statusColumns[name]}_at`)} AS "${name}At"`)
    .join(', ');

/**
 * A way to find episodes: entries that share a key are one look-up. Where either side must have no guid, an entry
 * without one ("bare") meets all, any other only episodes without. Where many stored ones share what should tell them
 * apart, as many as the batch could use up come back, lowest ids first ("+ 0" keeps the look-up on its own index).
 */
const lookUp = (key: string, entries: string, match: string) => `
     UNION SELECT found.id
     FROM (
       SELECT subscription_id, ${key}, coalesce(bool_or("episodeGuid" = ''), false) AS bare
       FROM entries WHERE ${entries} GROUP BY subscription_id, ${key}
     ) x
     CROSS JOIN LATERAL (
       SELECT e.id FROM episode.episodes e
       WHERE e.user_id = $1 AND e.subscription_id = x.subscription_id AND ${match}
       ORDER BY e.id + 0 LIMIT 2 * $4 + 1
     ) found`;
const eitherBare = `(e.episode_guid = '' OR x.bare)`;
const sameTitle = `e.title <> '' AND sync.digest(e.title) = sync.digest(x.title)`;
const sameUrl = `sync.digest(e.episode_url) = sync.digest(x."episodeUrl")`;

/** $1 user, $2 entries, $3 sync_ids, $4 the number of entries. Finds what an entry could mean; the rules decide in memory. */
export const load = statement(
  'episode.load',
  `WITH entries AS MATERIALIZED (
     SELECT e.*, n.subscription_id
     FROM json_to_recordset($2) AS e (
       "podcastGuid" uuid, "episodeGuid" text, title text, "publishDate" timestamptz, "enclosureUrl" text, "episodeUrl" text
     )
     JOIN subscription.named_subscriptions n ON n.user_id = $1 AND n.guid = e."podcastGuid" AND n.live
   ), aliases AS MATERIALIZED (
     SELECT sync_id, episode_id FROM episode.sync_ids WHERE user_id = $1 AND sync_id = ANY ($3::uuid[])
   ), ids AS (
     SELECT id FROM episode.episodes WHERE user_id = $1 AND sync_id = ANY ($3::uuid[])
     UNION SELECT episode_id FROM aliases
     ${lookUp('"episodeGuid"', `"episodeGuid" <> ''`, `e.episode_guid <> '' AND sync.sha256(e.episode_guid) = sync.sha256(x."episodeGuid")`)}
     ${lookUp('"enclosureUrl"', '"enclosureUrl" IS NOT NULL', `sync.digest(e.enclosure_url) = sync.digest(x."enclosureUrl") AND ${eitherBare}`)}
     ${lookUp(
       '"enclosureUrl", "publishDate", "episodeUrl", title',
       `"episodeGuid" <> ''`,
       `sync.digest(e.enclosure_url) = sync.digest(x."enclosureUrl") AND e.episode_guid <> ''
         AND (e.publish_date = x."publishDate" OR e.episode_url = x."episodeUrl" OR (e.title <> '' AND e.title = x.title))`,
     )}
     ${lookUp('"publishDate", "episodeUrl"', '"episodeUrl" IS NOT NULL', `e.publish_date = x."publishDate" AND ${sameUrl} AND ${eitherBare}`)}
     ${lookUp('"publishDate", title', `title <> ''`, `e.publish_date = x."publishDate" AND ${sameTitle} AND ${eitherBare}`)}
     ${lookUp('"episodeUrl", title', `title <> ''`, `${sameUrl} AND ${sameTitle} AND ${eitherBare}`)}
   )
   SELECT
     (SELECT json_agg(json_build_array(n."podcastGuid", json_build_object('id', n.subscription_id, 'currentGuid', s.guid)))
      FROM (SELECT DISTINCT "podcastGuid", subscription_id FROM entries) n
      JOIN subscription.current_guids s ON s.user_id = $1 AND s.subscription_id = n.subscription_id) AS subscriptions,
     (SELECT json_agg(json_build_array(sync_id, episode_id)) FROM aliases) AS aliases,
     (SELECT json_agg(row_to_json(r)) FROM (
       SELECT e.id, e.subscription_id AS "subscriptionId", ${metadataColumns}, e.minute_forms AS "minuteForms",
         ${inUtc('e.publish_date')} AS "publishDate", ${inUtc('e.changed')} AS changed,
         ${statusesWith(inUtc)}
       FROM episode.episodes e JOIN ids ON ids.id = e.id
       WHERE e.user_id = $1 ORDER BY e.id
     ) r) AS episodes,
     (SELECT json_agg(nextval('episode.episode_id')) FROM generate_series(1, $4)) AS "newIds"`,
);

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

/** What reads every episode that the entries of an upload could mean; {@link toLoaded} makes sense of what it answers. */
export function meant(userId: string, uploads: readonly Upload[]): Bound<Found> {
  const entries = uploads.map(({ podcastGuid, metadata }) => ({ podcastGuid, ...metadata }));
  const syncIds = uploads.flatMap(({ syncId }) => (syncId === undefined ? [] : [syncId]));
  return [load, [userId, JSON.stringify(entries), syncIds, uploads.length]];
}

export function toLoaded([found]: readonly Found[]): Loaded {
  return {
    subscriptions: found?.subscriptions ?? [],
    aliases: found?.aliases ?? [],
    episodes: (found?.episodes ?? []).map(toRow),
    newIds: found?.newIds ?? [],
  };
}

/** Writes what an upload changed, in at most two statements, the second one with the commit. */
export async function saveChanges(transaction: Transaction, userId: string, changes: Changes): Promise<void> {
  const { rows, renamed, aliases, absorbed } = changes;
  if (absorbed.length > 0 || renamed.length > 0) {
    const [gone, survivors] = [absorbed.map(({ from }) => from), absorbed.map(({ into }) => into)];
    await transaction.query(makeWay, [userId, gone, survivors, renamed]);
  }
  if (rows.length > 0 || aliases.length > 0) {
    transaction.last(save, [userId, JSON.stringify(rows.map(toColumns)), JSON.stringify(aliases)]);
  }
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
  const statuses: EpisodeRow['statuses'] = {};
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
