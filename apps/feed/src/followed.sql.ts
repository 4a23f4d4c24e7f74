import { clockOfUser, statement } from '#database';

/**
 * Seconds by which a sync timestamp is earlier than the read that returns it. A statement that
 * changes a feed commits sooner after its start, so the client's next `since` misses no change.
 */
const overlapSeconds = 10;
/** Seconds after a change of a subscription during which its feed is shown as pending. */
const hiddenSeconds = 8;
/** SQL condition: the feed of a subscription `v` is hidden. */
const isNew = `v.changed > now() - interval '${hiddenSeconds} s'`;

/**
 * Reads a page of followed feeds and its version. Invariants:
 * - Pages of one query with equal versions have equal rows. The version covers the guid and the
 *   time of change of each subscription, which all its changes advance, and the time of change of
 *   its feed, which all changes of the feed advance (`nextChange`). A latest time of all feeds
 *   would not suffice: transactions commit in another order than they start.
 * - The feed of a new subscription is not looked up, so neither rows nor version depend on whether
 *   other users follow it.
 * - The version covers no row ids, because clients could guess them from its hash.
 * - Citus runs the first CTE on the node of the user, and all else on the coordinator.
 *
 * `next` is the id of the page's last subscription if others follow. `unread` are the URLs of feeds
 * that were not found, or not read for a day. $1 user, $2 id of the previous page's last
 * subscription, $3 maximum subscriptions, $4 since, omits rows without a later change, $5 versions
 * that the client has: the rows of these pages are omitted.
 */
export const selectFollowedPage = statement(
  'feed.select_page',
  `WITH followed AS MATERIALIZED (
     SELECT c.refused, s.* FROM ${clockOfUser} c LEFT JOIN LATERAL (
       SELECT v.subscription_id AS id, v.guid, v.feed_url AS "feedUrl", v.title AS own_title,
         v.changed, sha256(convert_to(v.feed_url, 'UTF8')) AS key, ${isNew} AS is_new
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
     SELECT v.*, ${isNew} AS "isNew" FROM subscription.subscriptions_by_guid n
     JOIN subscription.followed_feeds v
       ON v.user_id = $1 AND v.subscription_id = n.subscription_id
     WHERE n.user_id = $1 AND n.guid = ANY ($2::uuid[])
   ) f ON true`,
);
