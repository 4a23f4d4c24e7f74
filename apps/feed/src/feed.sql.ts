import { statement } from '#database';

/** Days without a read by a follower after which a feed is no longer fetched, and is deleted. */
export const retentionDays = 14;
/** Days after a push during which a feed is kept and not fetched. */
const pushedDays = 30;
/** Maximum bytes of episodes that one statement returns. The first feed can exceed it. */
const maxEpisodeBytes = 2 * 1_024 * 1_024;
/**
 * SQL of the new value of the column `changed` of a feed `f`. It is later than the current value,
 * even if the clock of the database server was set back.
 */
export const nextChange = `greatest(now(), f.changed + interval '1 ms')`;

/**
 * Inserts missing feeds. Updates `last_read_at` of the other feeds at most once a day to keep them
 * scheduled, and skips locked ones. A new feed is due before all other feeds of its lane. The order
 * of the inserts, by key and lane, avoids deadlocks. $1 keys, $2 URLs, $3 lanes.
 */
export const ensureFeeds = statement(
  'feed.ensure_feeds',
  `WITH input AS (
     SELECT DISTINCT * FROM unnest($1::bytea[], $2::text[], $3::text[]) i (key, url, lane)
   ), touched_feeds AS (
     UPDATE feed.feeds f SET last_read_at = now() WHERE f.url_sha256 IN (
       SELECT o.url_sha256 FROM feed.feeds o
       WHERE o.url_sha256 = ANY ($1) AND o.last_read_at < now() - interval '1 day'
       FOR NO KEY UPDATE SKIP LOCKED
     ) RETURNING f.url_sha256
   ), new_feeds AS (
     INSERT INTO feed.feeds (url_sha256, url, last_read_at)
     SELECT i.key, i.url, now() FROM input i
     WHERE NOT EXISTS (SELECT FROM feed.feeds f WHERE f.url_sha256 = i.key)
     ORDER BY i.key ON CONFLICT DO NOTHING RETURNING url_sha256
   ), new_fetches AS (
     INSERT INTO feed.fetches (url_sha256, lane, next_at)
     SELECT i.key, i.lane, 'epoch' FROM new_feeds n JOIN input i ON i.key = n.url_sha256
   )
   INSERT INTO feed.lanes AS l (lane, next_at)
   SELECT DISTINCT i.lane, now() FROM input i
   WHERE i.key IN (SELECT url_sha256 FROM new_feeds UNION ALL SELECT url_sha256 FROM touched_feeds)
   ORDER BY 1
   ON CONFLICT (lane) DO UPDATE SET next_at = least(l.next_at, excluded.next_at)`,
);

/** Reads the episodes of the feed with key $1. */
export const selectEpisodes = statement(
  'feed.select_episodes',
  'SELECT f.episodes FROM feed.feeds f WHERE f.url_sha256 = $1',
);

/** Reads the content of the feed with key $1 for a comparison of feeds. */
export const selectComparedContent = statement(
  'feed.select_compared_content',
  `SELECT f.episodes, f.declared_guid AS "declaredGuid" FROM feed.feeds f
   WHERE f.url_sha256 = $1 AND f.status = 'ok'`,
);

/** Reads episodes of feeds in the order of the keys, up to {@link maxEpisodeBytes}. $1 keys. */
export const selectEpisodesOfAll = statement(
  'feed.select_episodes_of_all',
  `SELECT r.key, r.episodes FROM (
     SELECT s.n, s.key, f.episodes, sum(octet_length(f.episodes)) OVER (ORDER BY s.n) AS bytes
     FROM unnest($1::bytea[]) WITH ORDINALITY s (key, n) JOIN feed.feeds f ON f.url_sha256 = s.key
   ) r WHERE r.bytes <= ${maxEpisodeBytes} OR r.n = 1 ORDER BY r.n`,
);

/** Placeholder for `seen` of new episodes. The statement that stores them writes its time there. */
export const seenNow = 'now';

/**
 * Returns the SQL of episodes as JSON in which the current time replaces {@link seenNow}. The
 * replaced text cannot occur in a title, because JSON escapes quotation marks.
 */
export const withSeenTime = (column: string) => `replace(${column}, '"seen":"${seenNow}"',
       '"seen":"' || to_char(
         now()::timestamptz(3) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
       ) || '"')`;

/**
 * SQL of two CTEs for the feeds of a preceding CTE `stored`. They make new pictures due, and delete
 * the pictures of feeds without one. They do not write unchanged pictures.
 */
export const scheduledPictures = `scheduled_pictures AS (
     INSERT INTO feed.images AS i (url_sha256, id, source, next_at)
     SELECT s.url_sha256, gen_random_uuid(), s.image_url, now() FROM stored s
     WHERE s.image_url IS NOT NULL
     ON CONFLICT (url_sha256) DO UPDATE
       SET source = excluded.source, next_at = excluded.next_at, failures = 0
       WHERE i.source <> excluded.source
   ), bare AS (
     DELETE FROM feed.images i USING stored s
     WHERE i.url_sha256 = s.url_sha256 AND s.image_url IS NULL
   )`;

/**
 * Stores the content of pushed feeds, and postpones their fetches by 30 days. To avoid deadlocks,
 * it locks fetches before feeds, as `saveResult` does, in the order of keys. $1 feeds as JSON.
 */
export const storePushed = statement(
  'feed.store_pushed',
  `WITH sent AS MATERIALIZED (
     SELECT decode(s.key, 'hex') AS url_sha256, s.* FROM jsonb_to_recordset($1::jsonb) s (
       key text, title text, author text, description text, link text, language text,
       image_url text, declared_guid uuid, latest_publish_date timestamptz, episodes text,
       "newFeedUrl" text, "artworkUrl" text
     )
   ), locked AS MATERIALIZED (
     SELECT t.url_sha256, s."newFeedUrl"
     FROM feed.fetches t JOIN sent s ON s.url_sha256 = t.url_sha256
     ORDER BY t.url_sha256 FOR NO KEY UPDATE OF t
   ), postponed AS (
     UPDATE feed.fetches t SET pushed_until = u.time, next_at = u.time, etag = NULL,
       last_modified = NULL, content_sha256 = NULL, failures = 0, gone_count = 0,
       failing_since = NULL, fault = NULL, move_to = l."newFeedUrl", move_since = now(),
       move_seen = 0, move_proven = l."newFeedUrl" IS NOT NULL
     FROM locked l, (SELECT now() + interval '${pushedDays} days' AS time) u
     WHERE t.url_sha256 = l.url_sha256 RETURNING t.url_sha256
   ), stored AS (
     UPDATE feed.feeds f SET status = 'ok', title = s.title, author = s.author,
       description = s.description, link = s.link, language = s.language, image_url = s.image_url,
       artwork_url = s."artworkUrl", declared_guid = s.declared_guid,
       latest_publish_date = s.latest_publish_date,
       episodes = ${withSeenTime('s.episodes')}, changed = ${nextChange},
       last_read_at = greatest(
         f.last_read_at, now() + interval '${pushedDays - retentionDays} days'
       )
     FROM sent s JOIN postponed p ON p.url_sha256 = s.url_sha256
     WHERE f.url_sha256 = s.url_sha256 RETURNING f.url_sha256, f.image_url
   ), ${scheduledPictures}
   SELECT count(*) FROM stored`,
);

/** SQL of a URL without scheme and trailing slashes. */
const bareUrl = (url: string) => `regexp_replace(${url}, '^https?://|/+$', '', 'g')`;
/**
 * A move is held, that is, not applied, if at least 20 feeds and more than 5 % of the feeds of a
 * lane name the same new URL. The host can then be parked or hijacked.
 */
const [crowdedFeeds, crowdedShare] = [20, 0.05];

/**
 * Creates the tasks that apply proven moves and declared guids to followers.
 * - A feed with a new move or guid gets a task immediately. Other feeds get one at most once a day,
 *   for followers that were added later.
 * - A feed is the source or target of a new move at most once in seven days. It changes its guid at
 *   most once in seven days.
 * - Returns the held changes, which are not applied: moves of many feeds to one URL, and guids that
 *   several unrelated feeds declare.
 *
 * $1 keys, $2 true to apply moves, $3 true to apply guids.
 */
export const startVisits = statement(
  'feed.start_visits',
  `WITH
   -- Locks the feeds whose followers must be visited.
   feed AS MATERIALIZED (
     SELECT fetches.*, feeds.url, feeds.declared_guid
     FROM feed.fetches JOIN feed.feeds ON feeds.url_sha256 = fetches.url_sha256
     WHERE fetches.url_sha256 = ANY ($1) AND (
       fetches.visited_at < now() - interval '1 day'
       OR (fetches.move_proven AND fetches.moved_to IS DISTINCT FROM fetches.move_to)
       OR fetches.named_guid IS DISTINCT FROM feeds.declared_guid
     ) ORDER BY fetches.url_sha256 FOR NO KEY UPDATE OF fetches
   ),
   -- Decides for each feed: its new URL or guid (null: unchanged), and the kind of a held change.
   change AS MATERIALIZED (
     SELECT feed.url_sha256, feed.url, feed.moved_to,
       CASE WHEN feed.move_proven AND crowd.is_crowded THEN 'move'
         WHEN $3 AND feed.move_to IS NULL AND copies.is_copied THEN 'guid' END AS held,
       CASE WHEN $2 AND feed.move_proven AND NOT crowd.is_crowded AND (
         feed.moved_to = feed.move_to OR feed.moved_at IS NULL
         OR feed.moved_at < now() - interval '7 days'
       ) AND NOT EXISTS (
         SELECT FROM feed.fetches target
         WHERE target.url_sha256 = sha256(convert_to(feed.move_to, 'UTF8'))
           AND target.move_to = feed.url
       ) THEN feed.move_to END AS to_url,
       CASE WHEN $3 AND feed.move_to IS NULL AND (
         feed.named_guid = feed.declared_guid OR feed.named_at IS NULL
         OR feed.named_at < now() - interval '7 days'
       ) AND NOT copies.is_copied THEN feed.declared_guid END AS guid
     FROM feed CROSS JOIN LATERAL (
       SELECT lane.same >= ${crowdedFeeds} AND lane.same > ${crowdedShare} * lane.all_feeds
         AS is_crowded
       FROM (
         SELECT count(*) FILTER (WHERE other.move_to = feed.move_to) AS same, count(*) AS all_feeds
         FROM feed.fetches other WHERE other.lane = feed.lane AND feed.move_proven
       ) lane
     ) crowd CROSS JOIN LATERAL (
       SELECT EXISTS (
         SELECT FROM feed.feeds other
         JOIN feed.fetches other_fetch ON other_fetch.url_sha256 = other.url_sha256
         WHERE other.declared_guid = feed.declared_guid AND other.url_sha256 <> feed.url_sha256
           AND other_fetch.move_to IS DISTINCT FROM feed.url
           AND ${bareUrl('other.url')} <> ${bareUrl('feed.url')}
       ) AS is_copied
     ) copies
   ),
   -- Records the visit and the applied change of each feed.
   visited AS (
     UPDATE feed.fetches SET visited_at = now(),
       moved_to = coalesce(change.to_url, fetches.moved_to),
       named_guid = coalesce(change.guid, fetches.named_guid),
       moved_at = CASE WHEN change.to_url <> coalesce(fetches.moved_to, '') THEN now()
         ELSE fetches.moved_at END,
       named_at = CASE
         WHEN fetches.named_guid IS DISTINCT FROM coalesce(change.guid, fetches.named_guid)
         THEN now() ELSE fetches.named_at END
     FROM change WHERE fetches.url_sha256 = change.url_sha256
   ),
   -- Records that the feed at the new URL is the target of a move, so that it does not move soon.
   targets AS (
     UPDATE feed.fetches SET moved_at = now() FROM change
     WHERE fetches.url_sha256 = sha256(convert_to(change.to_url, 'UTF8'))
       AND fetches.url_sha256 <> change.url_sha256
       AND change.moved_to IS DISTINCT FROM change.to_url
   ),
   -- Creates the tasks, or starts existing ones again with the current change.
   started AS (
     INSERT INTO feed.tasks (url_sha256, kind, to_url, guid)
     SELECT change.url_sha256, 'apply', change.to_url, change.guid FROM change
     WHERE change.to_url IS NOT NULL OR change.guid IS NOT NULL ORDER BY 1
     ON CONFLICT (url_sha256, kind) DO UPDATE
       SET to_url = excluded.to_url, guid = excluded.guid, cursor = DEFAULT, created_at = now()
   )
   SELECT change.url, change.held AS kind FROM change WHERE change.held IS NOT NULL`,
);

/**
 * Makes feeds due, except pushed feeds and feeds fetched in the last 15 minutes. Locks lanes before
 * fetches. $1 keys.
 */
export const makeDue = statement(
  'feed.make_due',
  `WITH old AS (
     SELECT f.url_sha256, f.lane FROM feed.fetches f
     WHERE f.url_sha256 = ANY ($1) AND f.next_at > now() AND f.pushed_until < now()
       AND f.fetched_at < now() - interval '15 min'
   ), due AS (
     INSERT INTO feed.lanes AS l (lane, next_at)
     SELECT DISTINCT o.lane, now() FROM old o ORDER BY o.lane
     ON CONFLICT (lane) DO UPDATE SET next_at = least(l.next_at, excluded.next_at)
     RETURNING lane
   )
   UPDATE feed.fetches f SET next_at = now() FROM old o JOIN due d ON d.lane = o.lane
   WHERE f.url_sha256 = o.url_sha256`,
);

/**
 * Deletes feeds that no user read for 14 days, lanes without scheduled feeds, previews older than a
 * minute, and imports whose progress was not saved for a day. $1 maximum number of feeds.
 */
export const deleteUnread = statement(
  'feed.delete_unread',
  `WITH old AS (
     DELETE FROM feed.feeds f WHERE f.url_sha256 IN (
       SELECT o.url_sha256 FROM feed.feeds o
       WHERE o.last_read_at < now() - interval '${retentionDays} days'
       LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING 1
   ), lanes AS (
     DELETE FROM feed.lanes l WHERE l.next_at = 'infinity' AND l.busy_until < now()
   ),
   previews AS (DELETE FROM feed.previews p WHERE p.created_at < now() - interval '1 min'),
   imports AS (DELETE FROM feed.imports i WHERE i.seen_at < now() - interval '1 day')
   SELECT count(*)::integer AS removed FROM old`,
);
