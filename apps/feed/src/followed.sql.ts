import { clockOfUser, statement } from '#database';

/**
 * Seconds by which a sync timestamp is earlier than the read that returns it. A statement that
 * changes a feed takes less time until its commit. So the client's next `since` covers all changes
 * that were not committed at the time of the read.
 */
const overlapSeconds = 10;
/** Seconds after a change of a subscription during which its feed is shown as pending. */
const hiddenSeconds = 8;
/** SQL condition: subscription `v` changed so recently that its feed is shown as pending. */
const isNewCondition = `v.changed > now() - interval '${hiddenSeconds} s'`;

/**
 * Reads a page of followed feeds and its version. Invariants:
 * - Pages of one query with equal versions have equal rows. The version is a hash of the guid and
 *   the time of change of each subscription, and of the time of change of its feed. Each change of
 *   a subscription or feed advances that time (`nextChange`).
 * - The latest time of all feeds would not suffice as a version, because transactions commit in
 *   another order than they start.
 * - The feed of a new subscription is not looked up. So neither rows nor version depend on whether
 *   other users follow the feed.
 * - The version contains no row ids, because clients could guess them from the hash.
 * - Citus runs the first CTE on the node of the user, and the rest on the coordinator.
 *
 * `next` is the id of the page's last subscription, or null if no more subscriptions follow.
 * `unread` are the URLs of feeds that were not found, or not read for a day. $1 user, $2 id of the
 * previous page's last subscription, $3 maximum subscriptions, $4 time: rows without a later change
 * are omitted; null for all rows. $5 cached versions: a page with one of them has no rows.
 */
export const selectFollowedPage = statement(
  'feed.select_page',
  `WITH followed AS MATERIALIZED (
     SELECT c.refused, s.* FROM ${clockOfUser} c LEFT JOIN LATERAL (
       SELECT v.subscription_id AS id, v.guid, v.feed_url AS "feedUrl", v.title AS own_title,
         v.changed, sha256(convert_to(v.feed_url, 'UTF8')) AS key, ${isNewCondition} AS is_new
       FROM subscription.followed_feeds v WHERE v.user_id = $1 AND v.subscription_id > $2
       ORDER BY v.subscription_id LIMIT $3::integer + 1
     ) s ON true
   ), page AS MATERIALIZED (
     SELECT * FROM followed w LEFT JOIN LATERAL (
       SELECT f.status, f.title, f.author, f.description, f.link, f.language,
         f.image_url, f.latest_publish_date, f.artwork_url AS "artworkUrl",
         f.changed AS "feedChanged", f.last_read_at
       FROM feed.feeds f WHERE NOT w.is_new AND f.url_sha256 = w.key OFFSET 0
     ) f ON true
   ), head AS (
     SELECT max(p.refused) AS refused,
       (now() - interval '${overlapSeconds} s')::timestamptz(3) AS "syncTimestamp",
       encode(substr(sha256(coalesce(string_agg(
         uuid_send(p.guid) || timestamptz_send(p.changed)
           || timestamptz_send(coalesce(p."feedChanged", '-infinity')),
         '' ORDER BY p.id
       ), '')), 1, 12), 'hex') AS version,
       CASE WHEN count(p.id) > $3 THEN (array_agg(p.id ORDER BY p.id))[$3] END AS next,
       array_agg(p."feedUrl") FILTER (
         WHERE p.id IS NOT NULL
           AND coalesce(p.last_read_at, '-infinity') < now() - interval '1 day'
       ) AS unread
     FROM page p
   )
   SELECT h.*, p.id, p.guid, p."feedUrl", p.status, coalesce(p.own_title, p.title) AS title,
     p.author, p.description, p.link, p.language, p.image_url, p.latest_publish_date,
     p."artworkUrl", i.id AS "artworkId", p."feedChanged"
   FROM head h LEFT JOIN page p ON p.id <= coalesce(h.next, p.id)
     AND ($4::timestamptz IS NULL OR p.changed > $4 OR p."feedChanged" > $4)
     AND NOT h.version = ANY ($5::text[])
   LEFT JOIN LATERAL (
     SELECT o.id FROM feed.images o
     WHERE NOT p.is_new AND o.url_sha256 = p.key AND o.bytes IS NOT NULL OFFSET 0
   ) i ON true
   ORDER BY p.id`,
);

/** Reads the followed feeds that have or had the guids $2. $1 user. */
export const selectFollowedByGuid = statement(
  'feed.select_followed_by_guid',
  `SELECT c.refused, f.subscription_id AS id, f.guid, f.feed_url AS "feedUrl", f."isNew"
   FROM ${clockOfUser} c LEFT JOIN (
     SELECT v.*, ${isNewCondition} AS "isNew" FROM subscription.subscriptions_by_guid n
     JOIN subscription.followed_feeds v
       ON v.user_id = $1 AND v.subscription_id = n.subscription_id
     WHERE n.user_id = $1 AND n.guid = ANY ($2::uuid[])
   ) f ON true`,
);
