import { type Bound, clockOfUser, statement, type Statement } from '#database';
import { KnownSubscriptions, type Snapshot } from './known-subscriptions.js';
import { judgeEntry, type JudgedEntry, matchEntry, type UsableEntry } from './subscribe.rules.js';
import type { SubscriptionQuotas } from './subscription.config.js';
import { selectNamed, type SnapshotRow, toSnapshot } from './subscription.repository.js';
import type { SubscriptionRow } from './subscription.row.js';

/** Maximum number of URLs in one answer; each has at most 4,096 bytes. */
export const pageUrls = 500;
/**
 * The URLs of a page of subscriptions p: the current URL of a subscribed one, all URLs of any
 * other, which a client can have. The current URL comes first, with an empty key, then the others
 * by their SHA-256. A subscription without a URL yields a row without one.
 */
const withUrls = `
   SELECT c.refused, p.id, p.is_subscribed AS "isSubscribed", u.url, encode(u.key, 'hex') AS key
   FROM ${clockOfUser} c LEFT JOIN p ON true LEFT JOIN LATERAL (
     SELECT p.feed_url AS url, ''::bytea AS key WHERE p.id > $2 AND (p.is_subscribed OR EXISTS (
       SELECT FROM subscription.feed_urls n
       WHERE n.user_id = $1 AND n.url_sha256 = sync.sha256(p.feed_url)
         AND n.subscription_id = p.id
     ))
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
     SELECT s.id, s.is_subscribed, s.feed_url FROM subscription.subscriptions s
     WHERE s.user_id = $1 AND s.changed > $4 AND s.flipped > $4
       AND s.id >= $2 AND (s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL
     ORDER BY s.id LIMIT $3
   )${withUrls}`,
);

/** Like {@link flipped}, plus all subscribed ones. */
export const subscribed = statement(
  'subscription.subscribed_feeds',
  `WITH p AS MATERIALIZED (
     SELECT s.id, s.is_subscribed, s.feed_url FROM subscription.subscriptions s
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

/** $1 user, $2 subscriptions, $3 the SHA-256 of URLs. Returns a row if any has another URL. */
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

/** $1 user, $2 unmatched URLs. Reads URLs that equal them without percent-encoding. */
const twins = statement(
  'subscription.twins',
  'SELECT t.url, t.twin FROM subscription.twins_of($1, $2::text[]) t',
);

/** $1 user, $2 URLs, $3 their derived guids, $4 stamp, $5 quota of live ones, $6 other quotas. */
export const ensureFeeds = statement(
  'subscription.ensure_feeds',
  'SELECT f.made FROM subscription.ensure_feeds($1, $2::text[], $3::uuid[], $4, $5, $6) f',
);

/** Runs a statement: {@link Database.read} or a transaction's `query`. */
export type Query = <Row extends object>(
  query: Statement,
  values: readonly unknown[],
) => Promise<Row[]>;

/** Returns the statement for the rows and names of URLs, and the remaining quotas. */
export function namedByUrl(
  userId: string,
  urls: readonly string[],
  newRows: number,
  quotas: SubscriptionQuotas,
): Bound<SnapshotRow> {
  const usable = urls
    .map((feedUrl) => judgeEntry({ feedUrl }))
    .filter((entry) => entry.fault === undefined);
  return selectNamed(userId, {
    guids: usable.map((entry) => entry.derivedGuid),
    urls: usable.map((entry) => entry.feedUrl),
    newRows,
    quotas,
  });
}

/** The rows that were read, and an entry per URL: its stored form if only encoding differs. */
export interface ReadFeeds {
  snapshot: Snapshot;
  entryOf(url: string): JudgedEntry;
}

/** Reads again, without percent-encoding, for URLs that match nothing. */
export async function readOn(
  query: Query,
  userId: string,
  urls: readonly string[],
  {
    found,
    bind,
  }: { found: readonly SnapshotRow[]; bind(urls: readonly string[]): Bound<SnapshotRow> },
): Promise<ReadFeeds> {
  const snapshot = toSnapshot(found);
  const entries = new Map(urls.map((feedUrl) => [feedUrl, judgeEntry({ feedUrl })]));
  const read = { snapshot, entryOf: (url: string) => entries.get(url) as JudgedEntry };
  const known = new KnownSubscriptions(snapshot, '', 0);
  const isUnknown = (entry: JudgedEntry): entry is UsableEntry =>
    !entry.fault && !matchEntry(known, entry).row;
  const unknown = [...entries].filter(([, entry]) => isUnknown(entry)).map(([url]) => url);
  if (unknown.length === 0) return read;
  const matched = await query<{ url: string; twin: string }>(twins, [userId, unknown]);
  if (matched.length === 0) return read;
  for (const { url, twin } of matched) entries.set(url, judgeEntry({ feedUrl: twin }));
  const [load, values] = bind([...urls, ...matched.map(({ twin }) => twin)]);
  return { ...read, snapshot: toSnapshot(await query<SnapshotRow>(load, values)) };
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
