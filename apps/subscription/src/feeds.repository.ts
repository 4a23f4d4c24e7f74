import { type Bound, clockOfUser, statement, type Statement } from '#database';
import type { ValidatedEntry } from './subscribe.rules.js';
import type { SubscriptionQuotas } from './subscription.config.js';
import { selectMatches, type SnapshotRow } from './subscription.repository.js';
import type { SubscriptionRow } from './subscription-row.js';

/** Maximum number of URLs per page. A URL has at most 4,096 bytes, so a page has at most 2 MB. */
export const maxUrlsPerPage = 500;
/**
 * SQL that lists the URLs of a page of subscriptions `p`, a row for each URL.
 * - A subscribed subscription is listed with its current URL only. An unsubscribed one is listed
 *   with all its URLs, because clients can have stored any of them.
 * - The current URL comes first, with an empty `key`. The others follow in the order of their keys.
 * - If the page has no URL, it is one row with NULL as `url`.
 */
const selectUrls = `
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
 * Reads subscriptions that were subscribed or unsubscribed after $4, with their URLs. $1 user, $2
 * and $5 cursor: subscription id and URL key of the last row, $3 maximum number of rows.
 */
export const selectFlippedFeeds = statement(
  'subscription.select_flipped_feeds',
  // The condition on `changed`, which is never earlier than `flipped`, lets Postgres use an index.
  `WITH p AS MATERIALIZED (
     SELECT s.id, s.is_subscribed, s.feed_url, s.has_lost_url, s.title
     FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.changed > $4 AND s.flipped > $4
       AND s.id >= $2 AND (s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL
     ORDER BY s.id LIMIT $3
   )${selectUrls}`,
);

/** Like {@link selectFlippedFeeds}, and also reads all subscribed feeds. */
export const selectSubscribedFeeds = statement(
  'subscription.select_subscribed_feeds',
  `WITH p AS MATERIALIZED (
     SELECT s.id, s.is_subscribed, s.feed_url, s.has_lost_url, s.title
     FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.id >= $2
       AND (s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL AND (
         s.is_subscribed OR s.flipped > $4
       )
     ORDER BY s.id LIMIT $3
   )${selectUrls}`,
);

/** Counts the subscribed feeds of user $1. */
export const countSubscribed = statement(
  'subscription.count_subscribed',
  `SELECT c.refused, (
     SELECT count(*) FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.is_subscribed AND s.merged_into IS NULL
   )::integer AS subscribed FROM ${clockOfUser} c`,
);

/** Reads the first guid of each subscription whose guid has changed. $1 user, $2 subscriptions. */
export const selectFirstGuids = statement(
  'subscription.select_first_guids',
  `SELECT of.id, found.* FROM unnest($2::bigint[]) of (id) CROSS JOIN LATERAL (
     SELECT f.guid FROM subscription.former_guids f
     WHERE f.user_id = $1 AND f.subscription_id = of.id ORDER BY f.replaced LIMIT 1
   ) found`,
);

/**
 * SQL condition: a subscribed row that is not in the list $2. `NOT IN` with a subquery uses a hash
 * table; `<> ALL` could compare each row with each id.
 */
const isOmitted = `s.user_id = $1 AND s.is_subscribed AND s.merged_into IS NULL
     AND s.id NOT IN (SELECT unnest($2::bigint[]))`;

/**
 * Reads the id of one subscribed subscription that is not in $2; no row without one. $1 user, $2
 * subscriptions.
 */
export const selectOtherSubscribed = statement(
  'subscription.select_other_subscribed',
  // With ORDER BY, Postgres reads the user's rows by the primary key until the first match.
  `SELECT s.id FROM subscription.subscriptions s WHERE ${isOmitted} ORDER BY s.id LIMIT 1`,
);

/**
 * Reads the key of one URL of the subscriptions $2 that is not in $3; no row without one. $1 user,
 * $3 URL keys.
 */
export const selectOtherUrl = statement(
  'subscription.select_other_url',
  `SELECT found.* FROM unnest($2::bigint[]) of (id) CROSS JOIN LATERAL (
     SELECT f.url_sha256 FROM subscription.feed_urls f
     WHERE f.user_id = $1 AND f.subscription_id = of.id
       AND f.url_sha256 NOT IN (SELECT unnest($3::bytea[]))
     LIMIT 1
   ) found LIMIT 1`,
);

/**
 * Unsubscribes all subscriptions except $2, by the rule of `SubscriptionSet.setSubscribed`. The
 * rule is repeated in SQL, because a user can have too many subscriptions to read them all. $1
 * user, $2 subscriptions, $3 stamp, $4 time of the change.
 */
export const unsubscribeOthers = statement(
  'subscription.unsubscribe_others',
  `UPDATE subscription.subscriptions s
   SET is_subscribed = false, subscription_changed = $3, flipped = $3, changed = $3,
     is_subscribed_at = CASE
       WHEN s.deletion_id IS NULL THEN greatest(s.is_subscribed_at, $4)
       ELSE s.is_subscribed_at
     END
   WHERE ${isOmitted}`,
);

/**
 * Creates an unsubscribed subscription for each URL that matches none, until a quota is reached.
 * Returns the number of new subscriptions. $1 user, $2 URLs, $3 their derived guids, $4 their
 * lookup keys, $5 stamp, $6 quota of live subscriptions, $7 quota of guids and of URLs, each.
 */
export const ensureSubscriptions = statement(
  'subscription.ensure_subscriptions',
  'SELECT subscription.ensure_feeds($1, $2::text[], $3::uuid[], $4::bytea[], $5, $6, $7) AS made',
);

/** A function that runs a statement: {@link Database.read} or a transaction's `query`. */
export type Query = <Row extends object>(
  query: Statement,
  values: readonly unknown[],
) => Promise<Row[]>;

/**
 * Returns the statement that reads the subscriptions that match valid entries by URL or derived
 * guid. It also reserves ids for `newRows` rows, and reads how many rows the quotas still allow.
 */
export function selectMatchesOfEntries(
  userId: string,
  entries: Iterable<ValidatedEntry>,
  newRows: number,
  quotas: SubscriptionQuotas,
): Bound<SnapshotRow> {
  const valid = [...entries].filter((entry) => entry.fault === undefined);
  return selectMatches(userId, {
    guids: valid.map((entry) => entry.derivedGuid),
    urls: valid.map((entry) => entry.feedUrl),
    newRows,
    quotas,
  });
}

/** Returns the first guids by row id, for the rows whose guid has changed. */
export async function readFirstGuids(
  query: Query,
  userId: string,
  rows: readonly (SubscriptionRow | undefined)[],
): Promise<ReadonlyMap<number, string>> {
  const ids = [
    ...new Set(rows.flatMap((row) => (row && row.guidChanged !== null ? [row.id] : []))),
  ];
  if (ids.length === 0) return new Map();
  const guidRows = await query<{ id: number; guid: string }>(selectFirstGuids, [userId, ids]);
  return new Map(guidRows.map(({ id, guid }) => [id, guid]));
}
