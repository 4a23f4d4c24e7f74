import type { ListRequest, ReplyOf, listEpisodes } from '#contracts';
import { type Bound, type Database, listing, listPage, statement, type Transaction } from '#database';
import type { Metadata, Upload } from './episode-entry.rule.js';
import { shown } from './shown.episode.js';
import type { EpisodeRow } from './episode.row.js';
import type { Changes, Loaded } from './known-episodes.js';
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

/** What one upload reads of the episodes that it could mean: rows, and bytes of JSON at most. */
const mostRows = 2_000;
const mostBytes = 6 * 1_024 * 1_024;
/** The rows that one look-up reads at most. Of those that share an enclosure_url it keeps only some. */
const mostAlike = 8;
const mostOfAnEnclosure = 500;

/** A bound for the JSON of a row, told by lengths alone: characters of an episode_guid may take six bytes there. */
const jsonBytes = `6 * octet_length(e.episode_guid) + 2 * (octet_length(e.title) + octet_length(e.enclosure_url)
        + octet_length(e.episode_url)) + 800`;

/**
 * A way to find the episodes that an entry could mean, lowest ids first, and no more than `most`; `last` is a row that
 * was not looked beyond. Where either side must have no guid, an entry without one meets all, any other only episodes
 * without: "bare" tells those apart, in the look-up as in its index, which it reads in the order of ids ("+ 0" keeps it
 * on its own index).
 */
const lookUp = (rank: number, match: string, most = mostAlike, agrees = 'true') => `
     UNION ALL SELECT x.entry, ${rank}, f.id, f.bytes, f.place, f.place = ${most}
     FROM sought x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes, row_number() OVER (ORDER BY e.id + 0) AS place, ${agrees} AS agrees
       FROM episode.episodes e
       WHERE e.user_id = $1 AND e.subscription_id = x.subscription_id AND (e.episode_guid = '') = x.bare AND ${match}
       ORDER BY e.id + 0 LIMIT ${most}
     ) f WHERE f.agrees OR f.place = ${most}`;
const sameEnclosure = `e.enclosure_url <> '' AND sync.digest(e.enclosure_url) = sync.digest(x."enclosureUrl")`;
const sameTitle = `e.title <> '' AND sync.digest(e.title) = sync.digest(x.title)`;
const sameUrl = `e.episode_url <> '' AND sync.digest(e.episode_url) = sync.digest(x."episodeUrl")`;
const sameDate = 'e.publish_date = x."publishDate"';
const meets = `(x.bare OR x."episodeGuid" = '')`;

/**
 * $1 user, $2 entries, $3 their number. Finds what an entry could mean; the rules decide in memory. One with a known
 * sync_id means that episode, or merges it with the one of its episode_guid. What is named by either comes first, then the lowest id of every other look-up, then the second one; where that
 * becomes too much, the rest is not read, and `incomplete` says for which entry and rank.
 */
export const load = statement(
  'episode.load',
  `WITH entries AS MATERIALIZED (
     SELECT e.*, n.subscription_id
     FROM json_to_recordset($2) AS e (
       entry integer, "podcastGuid" uuid, "syncId" uuid, "episodeGuid" text, title text, "publishDate" timestamptz,
       "enclosureUrl" text, "episodeUrl" text
     )
     JOIN subscription.named_subscriptions n ON n.user_id = $1 AND n.guid = e."podcastGuid" AND n.live
   ), aliases AS MATERIALIZED (
     SELECT x.entry, a.sync_id, a.episode_id
     FROM entries x CROSS JOIN LATERAL (
       SELECT s.sync_id, s.episode_id FROM episode.sync_ids s WHERE s.user_id = $1 AND s.sync_id = x."syncId" LIMIT 1
     ) a
   ), named AS MATERIALIZED (
     SELECT x.entry, f.id, f.bytes FROM entries x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes FROM episode.episodes e WHERE e.user_id = $1 AND e.sync_id = x."syncId" LIMIT 1
     ) f
     UNION ALL SELECT a.entry, f.id, f.bytes FROM aliases a CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes FROM episode.episodes e WHERE e.user_id = $1 AND e.id = a.episode_id LIMIT 1
     ) f
   ), sought AS MATERIALIZED (
     SELECT e.*, side.bare FROM entries e CROSS JOIN (VALUES (true), (false)) side (bare)
     WHERE e."episodeGuid" IS NOT NULL AND e.entry NOT IN (SELECT entry FROM named)
   ), found AS MATERIALIZED (
     SELECT entry, 0 AS rank, id, bytes, 0::bigint AS place, false AS last FROM named
     UNION ALL SELECT x.entry, 1, f.id, f.bytes, 0, false
     FROM entries x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes FROM episode.episodes e
       WHERE e.user_id = $1 AND e.subscription_id = x.subscription_id AND e.episode_guid <> '' AND x."episodeGuid" <> ''
         AND sync.sha256(e.episode_guid) = sync.sha256(x."episodeGuid") LIMIT 1
     ) f
     ${lookUp(2, `${meets} AND ${sameEnclosure}`)}
     ${lookUp(3, `${meets} AND ${sameDate} AND ${sameUrl}`)}
     ${lookUp(3, `${meets} AND ${sameDate} AND ${sameTitle}`)}
     ${lookUp(3, `${meets} AND ${sameUrl} AND ${sameTitle}`)}
     ${lookUp(
       4,
       `NOT x.bare AND x."episodeGuid" <> '' AND ${sameEnclosure}`,
       mostOfAnEnclosure,
       `coalesce(${sameDate} OR (e.episode_url <> '' AND e.episode_url = x."episodeUrl") OR (e.title <> '' AND e.title = x.title), false)`,
     )}
   ), kept AS MATERIALIZED (
     SELECT id FROM (
       SELECT id, sum(bytes) OVER nearest AS bytes, count(*) OVER nearest AS rows
       FROM (SELECT id, min(place) AS place, min(bytes) AS bytes FROM found GROUP BY id) f
       WINDOW nearest AS (ORDER BY place, id)
     ) f WHERE bytes <= ${mostBytes} AND rows <= ${mostRows}
   )
   SELECT
     (SELECT json_agg(json_build_array(n."podcastGuid", json_build_object('id', n.subscription_id, 'currentGuid', s.guid)))
      FROM (SELECT DISTINCT "podcastGuid", subscription_id FROM entries) n
      JOIN subscription.current_guids s ON s.user_id = $1 AND s.subscription_id = n.subscription_id) AS subscriptions,
     (SELECT json_agg(json_build_array(sync_id, episode_id)) FROM aliases) AS aliases,
     (SELECT json_agg(row_to_json(r)) FROM (
       SELECT e.* FROM kept CROSS JOIN LATERAL (
         SELECT e.id, e.subscription_id AS "subscriptionId", ${metadataColumns}, e.minute_forms AS "minuteForms",
           ${inUtc('e.publish_date')} AS "publishDate", ${inUtc('e.changed')} AS changed,
           ${statusesWith(inUtc)}
         FROM episode.episodes e WHERE e.user_id = $1 AND e.id = kept.id OFFSET 0
       ) e
     ) r) AS episodes,
     (SELECT json_agg(json_build_array(i.entry, i.rank, i.complete_to)) FROM (
       SELECT f.entry, f.rank, least(min(f.id) FILTER (WHERE f.last), min(f.id) FILTER (WHERE k.id IS NULL) - 1) AS complete_to
       FROM found f LEFT JOIN kept k USING (id) GROUP BY f.entry, f.rank
     ) i WHERE i.complete_to IS NOT NULL) AS incomplete,
     (SELECT json_agg(nextval('episode.episode_id')) FROM generate_series(1, $3)) AS "newIds"`,
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

/** What reads the episodes that the entries of an upload could mean; {@link toLoaded} makes sense of what it answers. */
export function meant(userId: string, uploads: readonly Upload[]): Bound<Found> {
  const entries = uploads.map(({ podcastGuid, syncId, metadata }, entry) => ({
    entry,
    podcastGuid,
    syncId,
    episodeUrl: '',
    ...metadata,
  }));
  return [load, [userId, JSON.stringify(entries), uploads.length]];
}

export function toLoaded([found]: readonly Found[]): Loaded {
  return {
    subscriptions: found?.subscriptions ?? [],
    aliases: found?.aliases ?? [],
    incomplete: found?.incomplete ?? [],
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
