import {
  type GpodderEpisode,
  podcastGuid,
  type ReplyOf,
  type RequestOf,
  type listActions,
  urlKey,
} from '#contracts';
import { type Bound, clockOfUser, type Database, statement, unlessRefused } from '#database';
import { subscriptionOf } from './action.sql.js';
import {
  comparableEnclosureUrl,
  microsecondText,
  jsonBytes,
  rowTables,
  shownColumns,
} from './episode.sql.js';
import type { Metadata } from './episode.rules.js';
import { type StatusFields, statusesOf } from './episode.repository.js';

type ActionsRequest = RequestOf<typeof listActions>;

/** Maximum bytes of JSON in one page, unless the first episode alone has more. */
const maxBytes = 2 * 1_024 * 1_024;
/**
 * Maximum number of matches to sort by id for a page. With more matches, the statement scans the
 * primary key, which is already in the order of ids.
 */
const maxSortedRows = 10_000;

/** Returns SQL of a time: the time of a status as text with microseconds, others unchanged. */
const formatTime = (column: string) => (column.endsWith('_at') ? microsecondText(column) : column);

/**
 * Returns the statement of a page of the episodes that changed after $2. It also reads whether the
 * user is refused, and the number of row ids (`candidates`), which is $4 + 1 if more pages follow.
 * $1 user, $2 Unix time in seconds, $3 last row id of the previous page, $4 maximum number of rows.
 *
 * @param selectIds query of up to $4 + 1 row ids in ascending order.
 * @param ctes CTEs that `selectIds` uses, each with a trailing comma.
 */
const createPageStatement = (name: string, selectIds: string, ctes = '') =>
  statement(
    name,
    `WITH head AS MATERIALIZED (SELECT clock, refused FROM ${clockOfUser} c), ${ctes}
     ids AS MATERIALIZED (${selectIds}),
     sized AS (
       SELECT r.*, row_number() OVER by_id AS place, sum(r.bytes) OVER by_id AS size
       FROM ids CROSS JOIN LATERAL (
         SELECT s.id, g.guid AS "podcastGuid", g.feed_url AS "feedUrl", ${shownColumns(formatTime)},
           ${jsonBytes} + 2 * octet_length(g.feed_url) AS bytes
         FROM ${rowTables}
         JOIN subscription.current_guids g
           ON g.user_id = $1 AND g.subscription_id = e.subscription_id
         WHERE s.user_id = $1 AND s.id = ids.id OFFSET 0
       ) r WINDOW by_id AS (ORDER BY r.id)
     )
     SELECT head.refused, (SELECT count(*) FROM ids) AS candidates, p.*
     FROM head LEFT JOIN (
       SELECT * FROM sized WHERE place <= $4 AND (place = 1 OR size <= ${maxBytes})
     ) p ON true
     ORDER BY p.id`,
  );

const sinceTime = 'to_timestamp($2::double precision)';
// greatest(changed) equals `changed`, but no index has it. So Postgres scans the primary key.
const walkCondition = `s.user_id = $1 AND s.id > $3 AND greatest(s.changed) > ${sinceTime}`;
const orderAndLimit = 'ORDER BY s.id LIMIT $4 + 1';

/** Selects the episodes of all podcasts by the primary key, for a client without data. */
export const selectByPrimaryKey = createPageStatement(
  'episode.select_acted_by_primary_key',
  `SELECT s.id FROM episode.states s WHERE ${walkCondition} ${orderAndLimit}`,
);

/**
 * Selects changed episodes by the index on `changed`. With few changes, the cost does not depend on
 * the number of the user's rows. Above `maxSortedRows` changes, the statement scans the primary key
 * instead. Unless the user's clock is later than $2, the statement reads no episode.
 */
export const selectByChanged = createPageStatement(
  'episode.select_acted_by_changed',
  `(SELECT id FROM matches WHERE (SELECT few FROM counted) AND id > $3 ORDER BY id LIMIT $4 + 1)
   UNION ALL
   (SELECT s.id FROM episode.states s
    WHERE NOT (SELECT few FROM counted) AND ${walkCondition} ${orderAndLimit})`,
  `matches AS MATERIALIZED (
     SELECT s.id FROM episode.states s
     WHERE (SELECT clock FROM head) > ${sinceTime}
       AND s.user_id = $1 AND s.changed > ${sinceTime}
     ORDER BY s.changed LIMIT ${maxSortedRows + 1}
   ), counted AS MATERIALIZED (SELECT count(*) <= ${maxSortedRows} AS few FROM matches),`,
);

/** Selects favourites, by the index of favourites. */
export const selectFavorites = createPageStatement(
  'episode.select_acted_favorites',
  `SELECT s.id FROM episode.states s WHERE ${walkCondition} AND s.favorite_status ${orderAndLimit}`,
);

/**
 * SQL condition for the rows of {@link selectOfFeed}. $5 key of the feed URL, $6 its derived guid,
 * $7 true for favourites only.
 */
const feedCondition = `${walkCondition} AND (NOT $7::boolean OR s.favorite_status)`;
const feedCte = `feed AS MATERIALIZED (
     SELECT n.subscription_id FROM ${subscriptionOf('$5::bytea', '$6::uuid')} n
   )`;

/** Selects the episodes of one podcast. */
export const selectOfFeed = createPageStatement(
  'episode.select_acted_of_feed',
  `(SELECT s.id FROM matches CROSS JOIN LATERAL (
      SELECT s.id FROM episode.states s WHERE ${feedCondition} AND s.id = matches.id OFFSET 0
    ) s WHERE (SELECT few FROM counted) ${orderAndLimit})
   UNION ALL (SELECT s.id FROM episode.states s
    WHERE NOT (SELECT few FROM counted) AND ${feedCondition} AND (
      SELECT e.subscription_id FROM episode.episodes e
      WHERE e.user_id = $1 AND e.sync_id = s.sync_id
    ) = (SELECT subscription_id FROM feed) ${orderAndLimit})`,
  `${feedCte}, matches AS MATERIALIZED (
     SELECT e.id FROM episode.episodes e
     WHERE e.user_id = $1 AND e.subscription_id = (SELECT subscription_id FROM feed)
     ORDER BY e.subscription_id,
       episode.enclosure_key(e.episode_guid = '', ${comparableEnclosureUrl}), e.id + 0
     LIMIT ${maxSortedRows + 1}
   ), counted AS MATERIALIZED (SELECT count(*) <= ${maxSortedRows} AS few FROM matches),`,
);

type ActionEpisodeRow = Metadata &
  StatusFields & { id: number; syncId: string; feedUrl: string; podcastGuid: string };
type Head = { refused: number | null; candidates: number; id: number | null };

function selectPage(request: ActionsRequest, since: number): Bound<ActionEpisodeRow & Head> {
  const { userId, feedUrl, favorites = false, perPage, further } = request;
  const values = [userId, since, further?.after ?? 0, perPage];
  if (feedUrl === undefined)
    return [favorites ? selectFavorites : since > 0 ? selectByChanged : selectByPrimaryKey, values];
  const feedKey = Buffer.from(urlKey(feedUrl), 'hex');
  return [selectOfFeed, [...values, feedKey, podcastGuid(feedUrl), favorites]];
}

/**
 * Reads one page of the episodes that changed later than `since` (Unix time in seconds), in the
 * order of row ids. `last` is the last row id if more pages follow.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function readActionEpisodes(
  database: Database,
  request: ActionsRequest,
  since: number,
): Promise<Pick<ReplyOf<typeof listActions>, 'episodes'> & { last?: number }> {
  const [query, values] = selectPage(request, since);
  const rows = await database.read<ActionEpisodeRow & Head>(query, values);
  const head = unlessRefused<Head>(rows[0]);
  if (head.id === null) return { episodes: [] };
  return {
    episodes: rows.map(toEpisode),
    ...(head.candidates > rows.length && { last: rows.at(-1)?.id }),
  };
}

function toEpisode(row: ActionEpisodeRow): GpodderEpisode {
  const statuses = statusesOf(row, (value, at) => ({ value, at: `${at.replace(' ', 'T')}Z` }));
  return {
    syncId: row.syncId,
    feedUrl: row.feedUrl,
    podcastGuid: row.podcastGuid,
    episodeGuid: row.episodeGuid,
    enclosureUrl: row.enclosureUrl,
    episodeUrl: row.episodeUrl,
    title: row.title,
    publishDate: row.publishDate,
    ...(row.duration !== null && { duration: row.duration }),
    statuses: statuses as GpodderEpisode['statuses'],
  };
}
