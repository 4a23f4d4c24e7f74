import { metadataNames, statusNames, unknownMetadata, wireNames } from '#contracts';
import { statement } from '#database';

/**
 * Returns the SQL of the columns that clients see, of an episode `e` and its state `s`. The
 * columns are named like the fields of `Metadata` and `StatusFields`.
 *
 * @param convertTime returns the SQL that converts the time in a column.
 */
export const shownColumns = (convertTime: (column: string) => string) => {
  const metadata = metadataNames.map((name) => {
    const column = `e.${wireNames[name]}`;
    return `${name === 'publishDate' ? convertTime(column) : column} AS "${name}"`;
  });
  const statuses = statusNames.map((name) => {
    const column = `s.${wireNames[name]}`;
    return `${column} AS "${name}", ${convertTime(`${column}_at`)} AS "${name}At"`;
  });
  return ['e.sync_id AS "syncId"', ...metadata, ...statuses].join(', ');
};

/**
 * Returns SQL of a time as text in UTC with microseconds, such as `2026-01-01 10:00:00.5`. The
 * pool's parser would cut a `timestamptz` to milliseconds.
 */
export const microsecondText = (time: string) => `(${time} AT TIME ZONE 'UTC')::text`;

/** All columns of an episode `e` with its state `s`, for `toEpisodeRow` of the repository. */
export const rowColumns = `
           e.id, e.subscription_id AS "subscriptionId", s.minute_forms AS "minuteForms",
           ${microsecondText('s.changed')} AS changed, ${shownColumns(microsecondText)}`;

/**
 * The tables of {@link rowColumns}. A condition on `s` must follow. `OFFSET 0` fixes the plan. With
 * a plain join and without statistics, Postgres read all episodes of the user for each row.
 */
export const rowTables = `episode.states s CROSS JOIN LATERAL (
           SELECT * FROM episode.episodes e
           WHERE e.user_id = $1 AND e.sync_id = s.sync_id
           OFFSET 0
         ) e`;

/** Maximum number of episodes that one upload reads. Further candidates are omitted. */
const maxRows = 2_000;
/** Maximum bytes of JSON of the episodes that one upload reads. Further candidates are omitted. */
const maxBytes = 6 * 1_024 * 1_024;
/** Maximum rows that a lookup of match ranks 2 and 3 (`match.rules.ts`) reads for one entry. */
const maxSimilarRows = 8;
/** Maximum rows that the lookup of match rank 4 reads for one entry before filtering them. */
const maxRowsOfEnclosure = 500;

/**
 * SQL of an upper bound for the bytes of a row as JSON. Escaping makes each byte of an episode_guid
 * up to six bytes and of other texts up to two. A status takes up to 100 bytes, all other fields
 * together 350.
 */
export const jsonBytes = `6 * octet_length(e.episode_guid)
        + 2 * (octet_length(e.title) + octet_length(e.enclosure_url) + octet_length(e.episode_url))
        + ${350 + 100 * statusNames.length}`;

/**
 * Returns a UNION ALL branch that looks up the candidates of each entry at one rank: the first
 * `max` rows by id.
 *
 * - The last column is true for row number `max`, because more candidates can exist.
 * - The indexes separate rows without an episode_guid (`bare`) from rows with one. `entries` has a
 *   row for each group to search.
 * - `ORDER BY e.id + 0` makes Postgres use the index of the lookup: no other index has `id + 0`.
 * - A field that was not sent is NULL and matches no row.
 * - The `"enclosureUrl"` of an entry is in its comparable form.
 *
 * @param match the SQL condition of the lookup, for an index.
 * @param entries name of the table of entries.
 * @param agrees a SQL condition that filters the rows that were read.
 */
export const candidateLookupSql = (
  rank: number,
  match: string,
  { entries = 'searched', max = maxSimilarRows, agrees = 'true' } = {},
) => `
     UNION ALL SELECT x.entry, ${rank}, f.id, f.bytes, f.place, f.place = ${max}
     FROM ${entries} x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes, row_number() OVER (ORDER BY e.id + 0) AS place,
         ${agrees} AS agrees
       FROM episode.episodes e
       WHERE e.user_id = $1 AND e.subscription_id = x.subscription_id AND ${match}
       ORDER BY e.id + 0 LIMIT ${max}
     ) f WHERE f.agrees OR f.place = ${max}`;
/** SQL of the comparable form of the enclosure URL of an episode `e`, as in the index. */
export const comparableEnclosureUrl = 'coalesce(e.comparable_enclosure_url, e.enclosure_url)';
/**
 * SQL condition: an episode `e` has the enclosure URL of an entry `x`. If `x.bare`, the episode
 * has no episode_guid, else it has one.
 */
export const sameEnclosure = `episode.enclosure_key(e.episode_guid = '', ${comparableEnclosureUrl})
         = episode.enclosure_key(x.bare, x."enclosureUrl")`;
/** SQL condition: an episode `e` has the episode_guid of an entry `x`. */
export const sameGuid = `e.episode_guid <> ''
         AND episode.guid_key(e.subscription_id, e.episode_guid)
           = episode.guid_key(x.subscription_id, x."episodeGuid")`;
const samePair = (rowPair: string, entryPair: string) =>
  `episode.pair_key(e.episode_guid = '', ${rowPair}) = episode.pair_key(x.bare, ${entryPair})`;
const hasDate = `e.publish_date <> '${unknownMetadata.publishDate}'`;
const sameDateAndUrl = `${hasDate} AND e.episode_url <> ''
         AND ${samePair('e.publish_date, e.episode_url', 'x."publishDate", x."episodeUrl"')}`;
const sameDateAndTitle = `${hasDate} AND e.title <> ''
         AND ${samePair('e.publish_date, e.title', 'x."publishDate", x.title')}`;
const sameUrlAndTitle = `e.episode_url <> '' AND e.title <> ''
         AND ${samePair('e.episode_url, e.title', 'x."episodeUrl", x.title')}`;
const eitherHasNoGuid = `(x.bare OR x."episodeGuid" IS NULL)`;

const namedSubscriptions = `named_subscriptions AS MATERIALIZED (
     SELECT n.guid AS "podcastGuid", n.subscription_id, n.current_guid
     FROM (SELECT DISTINCT "podcastGuid" FROM sent) s CROSS JOIN LATERAL (
       SELECT * FROM subscription.subscriptions_by_guid n
       WHERE n.user_id = $1 AND n.guid = s."podcastGuid" AND n.is_live OFFSET 0
     ) n
   )`;
const currentGuids = `
     (SELECT json_agg(json_build_array("podcastGuid", json_build_object(
        'id', subscription_id, 'currentGuid', current_guid
      )))
      FROM named_subscriptions) AS subscriptions`;
/** Returns SQL of the numbers of episodes and aliases that the quotas of user $1 still allow. */
export const remainingQuotas = (episodes: string, aliases: string) => `
     (SELECT json_build_object(
        'episodes', ${episodes} - coalesce(max(t.episodes), 0),
        'aliases', ${aliases} - coalesce(max(t.sync_ids), 0)
      )
      FROM episode.totals t WHERE t.user_id = $1) AS remaining`;

/**
 * SQL of the candidates in `found` that are within the limits of one upload. Candidates with the
 * lowest `place` come first. Place 0 is a match by sync_id or episode_guid, place n the n-th row of
 * another lookup.
 */
export const keptRows = `kept AS MATERIALIZED (
     SELECT id FROM (
       SELECT id, sum(bytes) OVER nearest AS bytes, count(*) OVER nearest AS rows
       FROM (SELECT id, min(place) AS place, min(bytes) AS bytes FROM found GROUP BY id) f
       WINDOW nearest AS (ORDER BY place, id)
     ) f WHERE bytes <= ${maxBytes} AND rows <= ${maxRows}
   )`;
/** SQL of the episodes of {@link keptRows} as a JSON array, with their states. */
export const keptEpisodes = `(SELECT json_agg(r) FROM (
       SELECT e.* FROM kept CROSS JOIN LATERAL (
         SELECT ${rowColumns}
         FROM ${rowTables} WHERE s.user_id = $1 AND s.id = kept.id OFFSET 0
       ) e
     ) r) AS episodes`;
/**
 * SQL of the lookups (entry, rank) that omitted candidates because of the limits in `kept` or the
 * row limit of the lookup. Each lookup read all candidates with ids up to `complete_to`.
 */
export const incompleteLookups = `(
     SELECT json_agg(json_build_array(i.entry, i.rank, i.complete_to)) FROM (
       SELECT f.entry, f.rank, least(
           min(f.id) FILTER (WHERE f.last),
           min(f.id) FILTER (WHERE k.id IS NULL) - 1
         ) AS complete_to
       FROM found f LEFT JOIN kept k USING (id) GROUP BY f.entry, f.rank
     ) i WHERE i.complete_to IS NOT NULL) AS incomplete`;

/**
 * Reads the episodes that the entries of an upload identify by sync_id, alias or episode_guid. Most
 * uploads need no other episodes.
 * - An alias is looked up only if no episode has the sync_id.
 * - An episode_guid is not looked up if the episode of the sync_id has it.
 * - If the episodes have more than 6 MiB, no episode is returned (`reach` is `none`).
 *
 * One row has all data but the episodes, and each other row has one episode. To return the episodes
 * as JSON would take Postgres several times as long.
 *
 * $1 user; the podcast guids ($2), sync_ids ($3) and episode_guids ($4) of the entries; $5 quota of
 * episodes, $6 quota of aliases. {@link selectAllCandidates} also reads candidates by other
 * metadata.
 */
export const selectIdentifiedEpisodes = statement(
  'episode.select_named_episodes',
  `WITH sent AS MATERIALIZED (
     SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::text[])
       AS e ("podcastGuid", "syncId", "episodeGuid")
   ), ${namedSubscriptions}, entries AS MATERIALIZED (
     SELECT s.*, n.subscription_id FROM sent s JOIN named_subscriptions n USING ("podcastGuid")
   ), synced AS MATERIALIZED (
     SELECT x.*, f.id, f.episode_guid FROM entries x LEFT JOIN LATERAL (
       SELECT e.id, e.episode_guid FROM episode.episodes e
       WHERE e.user_id = $1 AND e.sync_id = x."syncId" LIMIT 1
     ) f ON true
   ), aliases AS MATERIALIZED (
     SELECT a.sync_id, a.episode_id FROM synced x CROSS JOIN LATERAL (
       SELECT s.sync_id, s.episode_id FROM episode.sync_ids s
       WHERE s.user_id = $1 AND s.sync_id = x."syncId" LIMIT 1
     ) a WHERE x.id IS NULL
   ), found AS MATERIALIZED (
     SELECT id FROM synced WHERE id IS NOT NULL
     UNION SELECT episode_id FROM aliases
     UNION SELECT f.id FROM synced x CROSS JOIN LATERAL (
       SELECT e.id FROM episode.episodes e WHERE e.user_id = $1 AND ${sameGuid} LIMIT 1
     ) f WHERE x."episodeGuid" <> coalesce(x.episode_guid, '')
   ), rows AS MATERIALIZED (
     SELECT e.* FROM found CROSS JOIN LATERAL (
       SELECT ${rowColumns}, ${jsonBytes} AS bytes
       FROM ${rowTables} WHERE s.user_id = $1 AND s.id = found.id OFFSET 0
     ) e
   ), total AS MATERIALIZED (
     SELECT coalesce(sum(bytes), 0) <= ${maxBytes} AS fits FROM rows
   ), head AS (
     SELECT ${currentGuids},
       (SELECT json_agg(json_build_array(sync_id, episode_id)) FROM aliases) AS aliases,
       (SELECT CASE WHEN fits THEN 'identified' ELSE 'none' END FROM total) AS reach,
       ${remainingQuotas('$5', '$6')}
   )
   SELECT h.*, r.* FROM head h LEFT JOIN rows r ON false
   UNION ALL SELECT NULL, NULL, NULL, NULL, r.* FROM rows r WHERE (SELECT fits FROM total)`,
);

/**
 * Reads the candidates of all entries; the rules choose among them in memory. $1 user, $2 entries,
 * $3 their number, $4 quota of episodes, $5 quota of aliases.
 * - Rank 0 (`named`): the episode with the entry's sync_id as its own or as an alias.
 * - Rank 1: the episode with the entry's episode_guid.
 * - Ranks 2 to 4: only for an entry without a match at rank 0.
 * - `completing`: entries that add an enclosure_url to an episode of rank 0. Episodes with that URL
 *   and without an episode_guid are the same episode.
 *
 * The statement returns at most 2,000 rows and 6 MiB (`kept`). `incomplete` lists the entries and
 * ranks with omitted rows.
 */
export const selectAllCandidates = statement(
  'episode.select_all_candidates',
  `WITH sent AS MATERIALIZED (
     SELECT * FROM json_to_recordset($2) AS e (
       entry integer, "podcastGuid" uuid, "syncId" uuid, "episodeGuid" text, title text,
       "publishDate" timestamptz, "enclosureUrl" text, "episodeUrl" text
     )
   ), ${namedSubscriptions}, entries AS MATERIALIZED (
     SELECT s.*, n.subscription_id FROM sent s JOIN named_subscriptions n USING ("podcastGuid")
   ), aliases AS MATERIALIZED (
     SELECT x.entry, a.sync_id, a.episode_id
     FROM entries x CROSS JOIN LATERAL (
       SELECT s.sync_id, s.episode_id FROM episode.sync_ids s
       WHERE s.user_id = $1 AND s.sync_id = x."syncId" LIMIT 1
     ) a
   ), named AS MATERIALIZED (
     SELECT x.entry, f.id, f.bytes, f.has_no_url FROM entries x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes, e.enclosure_url = '' AS has_no_url
       FROM episode.episodes e WHERE e.user_id = $1 AND e.sync_id = x."syncId" LIMIT 1
     ) f
     UNION ALL SELECT a.entry, f.id, f.bytes, f.has_no_url FROM aliases a CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes, e.enclosure_url = '' AS has_no_url
       FROM ${rowTables} WHERE s.user_id = $1 AND s.id = a.episode_id LIMIT 1
     ) f
   ), searched AS MATERIALIZED (
     SELECT e.*, side.bare FROM entries e CROSS JOIN (VALUES (true), (false)) side (bare)
     WHERE coalesce(e."episodeGuid", e."enclosureUrl") IS NOT NULL
       AND e.entry NOT IN (SELECT entry FROM named)
   ), completing AS MATERIALIZED (
     SELECT e.*, true AS bare FROM entries e
     WHERE e."enclosureUrl" IS NOT NULL AND e.entry IN (SELECT entry FROM named WHERE has_no_url)
   ), found AS MATERIALIZED (
     SELECT entry, 0 AS rank, id, bytes, 0::bigint AS place, false AS last FROM named
     UNION ALL SELECT x.entry, 1, f.id, f.bytes, 0, false
     FROM entries x CROSS JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes FROM episode.episodes e
       WHERE e.user_id = $1 AND ${sameGuid} LIMIT 1
     ) f
     ${candidateLookupSql(2, `${eitherHasNoGuid} AND ${sameEnclosure}`)}
     ${candidateLookupSql(2, sameEnclosure, { entries: 'completing' })}
     ${candidateLookupSql(3, `${eitherHasNoGuid} AND ${sameDateAndUrl}`)}
     ${candidateLookupSql(3, `${eitherHasNoGuid} AND ${sameDateAndTitle}`)}
     ${candidateLookupSql(3, `${eitherHasNoGuid} AND ${sameUrlAndTitle}`)}
     ${candidateLookupSql(4, `NOT x.bare AND x."episodeGuid" IS NOT NULL AND ${sameEnclosure}`, {
       max: maxRowsOfEnclosure,
       agrees: `coalesce(
         e.publish_date = x."publishDate" OR e.episode_url = x."episodeUrl" OR e.title = x.title,
         false
       )`,
     })}
   ), ${keptRows}
   SELECT ${currentGuids},
     (SELECT json_agg(json_build_array(sync_id, episode_id)) FROM aliases) AS aliases,
     ${keptEpisodes},
     ${incompleteLookups},
     (SELECT json_agg(nextval('episode.episode_id')) FROM generate_series(1, $3)) AS "newIds",
     'all' AS reach,
     ${remainingQuotas('$4', '$5')}`,
);
