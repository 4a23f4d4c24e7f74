import { type Bound, clockOfUser, statement, type Statement } from '#database';
import type { JudgedEntry } from './subscribe.rules.js';
import type { SubscriptionQuotas } from './subscription.config.js';
import { selectMatches, type SnapshotRow } from './subscription.repository.js';
import type { SubscriptionRow } from './subscription.row.js';

/** Maximum number of URLs in one answer; each has at most 4,096 bytes. */
export const pageUrls = 500;
/**
 * The URLs of a page of subscriptions p: the current URL of a subscribed one, all URLs of any
 * other, which a client can have. The current URL comes first, with an empty key, then the others
 * by their lookup keys. A subscription without a URL yields a row without one.
 */
const withUrls = `
   SELECT c.refused, p.id, p.is_subscribed AS "isSubscribed", p.title, u.url,
     encode(u.key, 'hex') AS key
   FROM ${clockOfUser} c LEFT JOIN p ON true LEFT JOIN LATERAL (
     SELECT p.feed_url AS url, ''::bytea AS key WHERE p.id > $2 AND NOT p.has_lost_url
     UNION ALL
     (SELECT f.url, f.url_sha256 FROM subscription.feed_urls f
     WHERE NOT p.is_subscribed AND f.user_id = $1 AND f.subscription_id = p.id
       AND f.url <> p.feed_url AND (p.id > $2 OR f.url_sha256 > $5)
     ORDER BY f.url_sha256 LIMIT $3)
   ) u ON true
   ORDER BY p.id, u.key LIMIT $3`;

/**
 * $1 user, $2 last row of the previous page, $3 maximum number of URLs, $4 since, $5 key of that
 * row's last URL. Reads the subscriptions that were subscribed or unsubscribed.
 */
export const flipped = statement(
  'subscription.flipped_feeds',
  // A flip is always a change, too. Only ids are sorted among all matches.
  `WITH p AS MATERIALIZED (
     SELECT s.id, s.is_subscribed, s.feed_url, s.has_lost_url, s.title
     FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.changed > $4 AND s.flipped > $4
       AND s.id >= $2 AND (s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL
     ORDER BY s.id LIMIT $3
   )${withUrls}`,
);

/** Like {@link flipped}, plus all subscribed ones. */
export const subscribed = statement(
  'subscription.subscribed_feeds',
  `WITH p AS MATERIALIZED (
     SELECT s.id, s.is_subscribed, s.feed_url, s.has_lost_url, s.title
     FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.id >= $2
       AND (s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL AND (
         s.is_subscribed OR s.flipped > $4
       )
     ORDER BY s.id LIMIT $3
   )${withUrls}`,
);

/** $1 user. Counts the subscribed feeds. */
export const countSubscribed = statement(
  'subscription.count_feeds',
  `SELECT c.refused, (
     SELECT count(*) FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.is_subscribed AND s.merged_into IS NULL
   )::integer AS subscribed FROM ${clockOfUser} c`,
);

/** $1 user, $2 subscriptions. Reads the first guid of each, if it differs from the current one. */
export const firstGuids = statement(
  'subscription.first_guids',
  `SELECT of.id, found.* FROM unnest($2::bigint[]) of (id) CROSS JOIN LATERAL (
     SELECT f.guid FROM subscription.former_guids f
     WHERE f.user_id = $1 AND f.subscription_id = of.id ORDER BY f.replaced LIMIT 1
   ) found`,
);

/** Subscriptions that a full list omits. `<> ALL` could compare each with each. */
const omitted = `s.user_id = $1 AND s.is_subscribed AND s.merged_into IS NULL
     AND s.id NOT IN (SELECT unnest($2::bigint[]))`;

/** $1 user, $2 subscriptions. Returns a row if any other is subscribed. */
export const hasOthers = statement(
  'subscription.has_others',
  // Index order, so that no other user's rows are read before the first match.
  `SELECT s.id FROM subscription.subscriptions s WHERE ${omitted} ORDER BY s.id LIMIT 1`,
);

/** $1 user, $2 subscriptions, $3 keys of URLs. Returns a row if any has another URL. */
export const hasOtherUrls = statement(
  'subscription.has_other_urls',
  `SELECT found.* FROM unnest($2::bigint[]) of (id) CROSS JOIN LATERAL (
     SELECT f.url_sha256 FROM subscription.feed_urls f
     WHERE f.user_id = $1 AND f.subscription_id = of.id
       AND f.url_sha256 NOT IN (SELECT unnest($3::bytea[]))
     LIMIT 1
   ) found LIMIT 1`,
);

/**
 * $1 user, $2 subscriptions, $3 stamp, $4 time. Unsubscribes all others, by the rule of
 * `KnownSubscriptions.setSubscribed`. It does not read them, as there can be as many as the quota
 * allows.
 */
export const unsubscribeOthers = statement(
  'subscription.unsubscribe_others',
  `UPDATE subscription.subscriptions s
   SET is_subscribed = false, subscription_changed = $3, flipped = $3, changed = $3,
     is_subscribed_at = CASE
       WHEN s.deletion_id IS NULL THEN greatest(s.is_subscribed_at, $4)
       ELSE s.is_subscribed_at
     END
   WHERE ${omitted}`,
);

/**
 * $1 user, $2 URLs, $3 their derived guids, $4 their keys, $5 stamp, $6 quota of live ones,
 * $7 other quotas. Returns the number of new subscriptions.
 */
export const ensureSubscriptions = statement(
  'subscription.ensure_feeds',
  'SELECT subscription.ensure_feeds($1, $2::text[], $3::uuid[], $4::bytea[], $5, $6, $7) AS made',
);

/** Runs a statement: {@link Database.read} or a transaction's `query`. */
export type Query = <Row extends object>(
  query: Statement,
  values: readonly unknown[],
) => Promise<Row[]>;

/** Returns the statement for the rows and names of valid entries, and the remaining quotas. */
export function namedByUrl(
  userId: string,
  entries: Iterable<JudgedEntry>,
  newRows: number,
  quotas: SubscriptionQuotas,
): Bound<SnapshotRow> {
  const usable = [...entries].filter((entry) => entry.fault === undefined);
  return selectMatches(userId, {
    guids: usable.map((entry) => entry.derivedGuid),
    urls: usable.map((entry) => entry.feedUrl),
    newRows,
    quotas,
  });
}

/** Returns the first guids of subscriptions by id, for those whose guid has changed. */
export async function readFirstGuids(
  query: Query,
  userId: string,
  rows: readonly (SubscriptionRow | undefined)[],
): Promise<ReadonlyMap<number, string>> {
  const ids = [
    ...new Set(rows.flatMap((row) => (row && row.guidChanged !== null ? [row.id] : []))),
  ];
  if (ids.length === 0) return new Map();
  const found = await query<{ id: number; guid: string }>(firstGuids, [userId, ids]);
  return new Map(found.map(({ id, guid }) => [id, guid]));
}
