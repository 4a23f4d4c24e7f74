import { type MetadataName, metadataNames, statusNames, unknownMetadata, wireNames } from '#contracts';
import { statement } from '#database';

// Each statement but those that find users is about one user, and reads a page by the rows' ids: whatever a user has, no
// answer is large. Texts are made to JSON here, as Postgres does it while this process waits for the disk.

/** Those who are being erased, or have been, are nobody. $1 the user after whom the page begins, $2 users at most, $3 which shard, $4 of how many. */
export const users = statement(
  'dump.users',
  `SELECT c.user_id AS id FROM sync.user_clock c
   WHERE c.user_id > $1 AND c.refused IS DISTINCT FROM 2 AND c.refused IS DISTINCT FROM 3 AND (uuid_hash_extended(c.user_id, 0) & 9223372036854775807) % $4 = $3::bigint
   ORDER BY c.user_id LIMIT $2`,
);

/** $1 which shard, $2 of how many. */
export const countUsers = statement(
  'dump.count_users',
  `SELECT count(*) AS users FROM sync.user_clock c
   WHERE c.refused IS DISTINCT FROM 2 AND c.refused IS DISTINCT FROM 3 AND (uuid_hash_extended(c.user_id, 0) & 9223372036854775807) % $2 = $1::bigint`,
);

/** $1 user: how far their clock is, and whether they are being erased or have been; no row for one who never wrote. */
export const user = statement(
  'dump.user',
  'SELECT c.stamp AS clock, coalesce(c.refused, 0) > 1 AS erased FROM sync.user_clock c WHERE c.user_id = $1',
);

/** A subscription with its names, under the names of the form. */
export interface SubscriptionRow {
  readonly id: string;
  readonly feed_url: string;
  readonly guid: string;
  readonly is_subscribed: boolean;
  readonly timestamp: string | null;
  readonly deleted: boolean;
  readonly merged_into: string | null;
  readonly guid_changed: string | null;
  readonly former_guids: { guid: string; replaced: string }[] | null;
  readonly guids: { guid: string; sent: boolean; derived: boolean }[] | null;
  readonly feed_url_hashes: string[] | null;
  /** Whether there are URLs, beside the present one, whose texts are known. */
  readonly has_former_urls: boolean;
  /** Whether a deletion is PENDING. */
  readonly pending: boolean;
}

/** All names of one kind of a page's subscriptions, read once for all: no index begins with the subscription. */
const names = (table: string, aggregate: string) => `
     SELECT n.subscription_id, ${aggregate} AS names FROM subscription.${table} n
     WHERE n.user_id = $1 AND n.subscription_id IN (SELECT id FROM page) GROUP BY n.subscription_id`;

/**
 * $1 user, $2 the row after which the page begins, $3 rows at most. Of the present one of the URLs that name a
 * subscription there is a hash, as of one that was deleted, or is a pointer, another one may have it; and of those that
 * are not known.
 */
export const subscriptions = statement(
  'dump.subscriptions',
  `WITH page AS MATERIALIZED (
     SELECT s.* FROM subscription.subscriptions s WHERE s.user_id = $1 AND s.id > $2 ORDER BY s.id LIMIT $3
   ), guids AS MATERIALIZED (${names('guids', "json_agg(json_build_object('guid', n.guid, 'sent', n.sent, 'derived', n.derived) ORDER BY n.guid)")}
   ), former AS MATERIALIZED (${names('former_guids', "json_agg(json_build_object('guid', n.guid, 'replaced', n.replaced) ORDER BY n.replaced)")}
   ), urls AS MATERIALIZED (
     SELECT n.subscription_id, bool_or(n.url <> p.feed_url) AS has_former,
       json_agg(encode(n.url_sha256, 'hex') ORDER BY n.url_sha256) FILTER (WHERE n.url <> p.feed_url IS NOT TRUE) AS names
     FROM subscription.feed_urls n JOIN page p ON p.id = n.subscription_id WHERE n.user_id = $1 GROUP BY n.subscription_id
   )
   SELECT s.id, s.feed_url, s.guid, s.is_subscribed, to_json(nullif(s.is_subscribed_at, 'epoch')) AS timestamp,
     s.deleted IS NOT NULL AS deleted, m.guid AS merged_into, to_json(s.guid_changed) AS guid_changed,
     former.names AS former_guids, guids.names AS guids,
     urls.names AS feed_url_hashes, coalesce(urls.has_former, false) AS has_former_urls,
     s.deletion_id IS NOT NULL AS pending
   FROM page s
   LEFT JOIN subscription.subscriptions m ON m.user_id = $1 AND m.id = s.merged_into
   LEFT JOIN guids ON guids.subscription_id = s.id
   LEFT JOIN former ON former.subscription_id = s.id
   LEFT JOIN urls ON urls.subscription_id = s.id
   ORDER BY s.id`,
);

/** A URL of a subscription that is not its present one. */
export interface FormerUrlRow {
  readonly id: string;
  readonly key: string;
  readonly url: string;
}

/** $1 user, $2 subscriptions, $3 and $4 subscription and hash of the URL after which the page begins, $5 URLs at most. */
export const formerUrls = statement(
  'dump.former_urls',
  `SELECT n.subscription_id AS id, encode(n.url_sha256, 'hex') AS key, n.url
   FROM subscription.feed_urls n JOIN subscription.subscriptions s ON s.user_id = $1 AND s.id = n.subscription_id
   WHERE n.user_id = $1 AND n.subscription_id = ANY ($2::bigint[]) AND n.url <> s.feed_url
     AND (n.subscription_id, n.url_sha256) > ($3::bigint, decode($4, 'hex'))
   ORDER BY n.subscription_id, n.url_sha256 LIMIT $5`,
);

/** The line of an episode up to the end of its fields, and the first of its further sync_ids. */
export interface EpisodeRow {
  readonly id: string;
  readonly fields: string;
  readonly further: string[] | null;
}

/** A field of a line as SQL: nothing where the value is null. */
const field = (name: string, json: string) => `coalesce(',"${name}":' || ${json}, '')`;

const described = (name: MetadataName) => {
  const [column, unknown] = [`e.${wireNames[name]}`, unknownMetadata[name]];
  return field(wireNames[name], `to_json(${unknown === null ? column : `nullif(${column}, '${unknown}')`})::text`);
};

/** In a session in UTC. A time that was given to the minute stays one. */
const settled = (column: string, bit: number) => {
  const minute = `to_char(s.${column}_at, '\\"YYYY-MM-DD"T"HH24:MI\\"')`;
  const time = `CASE WHEN s.minute_forms & ${1 << bit} = 0 THEN to_json(s.${column}_at)::text ELSE ${minute} END`;
  return field(column, `'{"value":' || s.${column} || ',"timestamp":' || ${time} || '}'`);
};

const fields = [...metadataNames.map(described), ...statusNames.map((name, bit) => settled(wireNames[name], bit))].join(
  '\n       || ',
);

/** $1 user, $2 the row after which the page begins, $3 rows at most, $4 further sync_ids of each at most. */
export const episodes = statement(
  'dump.episodes',
  `SELECT s.id, e.* FROM (
     SELECT * FROM episode.states s WHERE s.user_id = $1 AND s.id > $2 ORDER BY s.id LIMIT $3
   ) s CROSS JOIN LATERAL (
     SELECT '{"episode":{"podcast_guid":"' || p.guid || '","sync_id":"' || e.sync_id || '"'
       || ${fields} AS fields,
       CASE WHEN (SELECT t.sync_ids FROM episode.totals t WHERE t.user_id = $1) > 0 THEN (
         SELECT json_agg(a.sync_id) FROM (
           SELECT a.sync_id FROM episode.sync_ids a WHERE a.user_id = $1 AND a.episode_id = s.id ORDER BY a.sync_id LIMIT $4
         ) a
       ) END AS further
     FROM episode.episodes e JOIN subscription.subscriptions p ON p.user_id = $1 AND p.id = e.subscription_id
     WHERE e.user_id = $1 AND e.sync_id = s.sync_id OFFSET 0
   ) e
   ORDER BY s.id`,
);

/** $1 user, $2 the row of an episode, $3 the sync_id after which the page begins, $4 how many at most. */
export const furtherSyncIds = statement(
  'dump.further_sync_ids',
  `SELECT a.sync_id AS "syncId" FROM episode.sync_ids a WHERE a.user_id = $1 AND a.episode_id = $2 AND a.sync_id > $3
   ORDER BY a.sync_id LIMIT $4`,
);
