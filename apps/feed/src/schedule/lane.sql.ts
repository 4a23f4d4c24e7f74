import { statement } from '#database';
import { nextChange, scheduledPictures, retentionDays, withSeenTime } from '../feed.sql.js';

/** Seconds of a lease. They exceed a fetch of 45 s and the 10 s in which its result is stored. */
const leaseSeconds = 90;

/** SQL of a time as milliseconds since 1970. */
const epochMs = (time: string) => `(extract(epoch FROM ${time}) * 1000)::double precision`;

/** SQL that selects the lanes that are due and not leased. */
export const dueLanes =
  'SELECT d.lane FROM feed.lanes d WHERE d.next_at <= now() AND d.busy_until <= now()';

/**
 * Leases due lanes, and reads the next due feed of each lane. During a lease `next_at` is the
 * lease's end; an earlier value means that a feed became due meanwhile. $1 maximum number of lanes.
 */
export const claimLanes = statement(
  'feed.claim_lanes',
  `WITH leased AS (
     UPDATE feed.lanes l SET busy_until = e.time, next_at = e.time
     FROM (SELECT now() + interval '${leaseSeconds} s' AS time) e WHERE l.lane = ANY (ARRAY(
       -- The planner expects a short array, and looks up each lane by its key.
       ${dueLanes}
       ORDER BY d.next_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     ))
     RETURNING l.lane, l.busy_until::text AS lease, l.blocks
   )
   SELECT l.lane, l.lease, l.blocks, to_jsonb(n) AS feed
   FROM leased l LEFT JOIN LATERAL (
     SELECT encode(t.url_sha256, 'hex') AS key, f.url, f.status, t.etag,
       t.last_modified AS "lastModified", encode(t.content_sha256, 'hex') AS "contentSha256",
       ${epochMs('f.latest_publish_date')} AS latest, t.gap_seconds AS "gapSeconds",
       t.is_complete AS "isComplete", t.failures, t.gone_count AS "goneCount",
       ${epochMs('t.failing_since')} AS "failingSince", f.declared_guid AS "declaredGuid",
       CASE WHEN t.move_to IS NOT NULL THEN jsonb_build_object('to', t.move_to, 'seen', t.move_seen,
         'since', ${epochMs('t.move_since')}, 'isProven', t.move_proven) END AS move,
       t.visited_at < now() - interval '1 day' AS "isVisitDue"
     FROM feed.fetches t JOIN feed.feeds f ON f.url_sha256 = t.url_sha256
     WHERE t.lane = l.lane AND t.next_at <= now()
       AND f.last_read_at > now() - interval '${retentionDays} days'
     ORDER BY t.next_at LIMIT 1
   ) n ON true`,
);

/**
 * SQL that ends a lease. $1 lane, $2 lease, $3 milliseconds until the next request in the lane, $4
 * number of consecutive 429 responses.
 *
 * @param nextTimeSql SQL of the time of the lane's next fetch; NULL without one.
 */
const endLease = (nextTimeSql: string) => `
  UPDATE feed.lanes l SET
    busy_until = now() + $3::double precision * interval '1 ms',
    blocks = $4,
    next_at = CASE WHEN l.next_at < l.busy_until THEN l.next_at
      ELSE coalesce(${nextTimeSql}, 'infinity') END
  WHERE l.lane = $1 AND l.busy_until = $2::timestamptz`;

/** SQL of the earliest fetch time among the feeds of lane $1 that meet a condition. */
const selectNextFetchTime = (condition: string) => `(
  SELECT t.next_at FROM feed.fetches t JOIN feed.feeds f ON f.url_sha256 = t.url_sha256
  WHERE t.lane = $1 AND f.last_read_at > now() - interval '${retentionDays} days' AND ${condition}
  ORDER BY t.next_at LIMIT 1
)`;

/** Ends the lease of a lane without a due feed; see {@link endLease}. */
export const releaseLane = statement('feed.release_lane', endLease(selectNextFetchTime('true')));

/**
 * SQL that sets a column of a feed `f` to its value in a document `c`. If the document was read
 * partly and lacks the value, the stored value is kept.
 */
const setFromDocument = (column: string) =>
  `${column} = CASE WHEN c.is_whole THEN c.${column} ELSE coalesce(c.${column}, f.${column}) END`;

/** Columns that {@link setFromDocument} sets. */
const documentColumns = [
  'title',
  'author',
  'description',
  'link',
  'language',
  'image_url',
  'declared_guid',
];

/**
 * Stores the result of a fetch and ends the lease. Does nothing if another replica has leased the
 * lane since. If the feed was pushed meanwhile, only the lease ends. $1 to $4
 * see {@link endLease}, $5 key in hex, $6 result as JSON, $7 content as JSON or null.
 */
export const saveResult = statement(
  'feed.save_result',
  `WITH result AS (
     SELECT to_timestamp(("nextAt") / 1000) AS next_at, r.*
     FROM jsonb_to_record($6::jsonb) r (
       "nextAt" double precision, etag text, "lastModified" text, "contentSha256" text,
       "gapSeconds" integer, "isComplete" boolean, failures integer, "goneCount" integer,
       "failingSince" double precision, fault text, status text, move jsonb
     )
   ), lane AS (
     ${endLease(`least(
       (SELECT r.next_at FROM result r), ${selectNextFetchTime(`t.url_sha256 <> decode($5, 'hex')`)}
     )`)}
     RETURNING l.lane
   ), fetched AS (
     UPDATE feed.fetches t SET next_at = r.next_at, fetched_at = now(), etag = r.etag,
       last_modified = r."lastModified", content_sha256 = decode(r."contentSha256", 'hex'),
       gap_seconds = r."gapSeconds", is_complete = r."isComplete", failures = r.failures,
       gone_count = r."goneCount", failing_since = to_timestamp(r."failingSince" / 1000),
       fault = r.fault,
       move_to = r.move ->> 'to', move_seen = coalesce((r.move ->> 'seen')::integer, 0),
       move_since = to_timestamp((r.move ->> 'since')::double precision / 1000),
       move_proven = coalesce((r.move ->> 'isProven')::boolean, false)
     FROM result r, lane WHERE t.url_sha256 = decode($5, 'hex') AND t.pushed_until < now()
     RETURNING t.url_sha256
   ), changed_status AS (
     UPDATE feed.feeds f SET status = r.status, changed = ${nextChange}
     FROM result r, fetched t
     WHERE f.url_sha256 = t.url_sha256 AND f.status <> r.status AND $7::jsonb IS NULL
   ), stored AS (
     UPDATE feed.feeds f SET status = r.status, artwork_url = NULL,
       ${documentColumns.map(setFromDocument).join(', ')},
       latest_publish_date = greatest(
         c.latest_publish_date, CASE WHEN NOT c.is_whole THEN f.latest_publish_date END
       ),
       episodes = ${withSeenTime('c.episodes')}, changed = ${nextChange}
     FROM result r, fetched t, jsonb_to_record($7::jsonb) c (
       title text, author text, description text, link text, language text, image_url text,
       declared_guid uuid, latest_publish_date timestamptz, episodes text, is_whole boolean
     ) WHERE f.url_sha256 = t.url_sha256 AND $7::jsonb IS NOT NULL
     RETURNING f.url_sha256, f.image_url
   ), ${scheduledPictures}
   SELECT count(*)::integer AS saved FROM lane`,
);
