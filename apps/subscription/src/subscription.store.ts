import type { ListRequest, ReplyOf, listSubscriptions } from '#contracts';
import { type Bound, type Database, instant, listing, listPage, statement, type Transaction } from '#database';
import { type Changes, type Loaded, type Merge, type SubscriptionRow, urlKey } from './known-subscriptions.js';
import { mostStates } from './merge.budget.js';
import type { SubscriptionQuotas } from './subscription.config.js';

const columns = `
  s.id, s.feed_url AS "feedUrl", s.guid, s.is_subscribed AS "isSubscribed", ${instant('s.is_subscribed_at')} AS "subscribedAt",
  s.subscription_changed AS "subscriptionChanged", s.guid_changed AS "guidChanged", s.declared_guids AS "declaredGuids",
  s.deletion_id AS "deletionId", s.deleted, s.merged_into AS "mergedInto", s.merged_at AS "mergedAt"`;

/** What a user's rows leave of a quota; they are counted up to the quota and no further. */
const left = (limit: string, table: string, where = 'true') =>
  `${limit} - (SELECT count(*) FROM (SELECT FROM subscription.${table} WHERE user_id = $1 AND ${where} LIMIT ${limit}) n)`;

/**
 * $1 user, $2 guids, $3 keys of URLs, $4 how many ids for new rows, $5 quota of live ones, $6 quota of all else. Without
 * quotas nothing is counted: for a write that adds nothing.
 */
export const load = statement(
  'subscription.load',
  `WITH g AS (
       SELECT found.* FROM unnest($2::uuid[]) sent (guid) CROSS JOIN LATERAL (
         SELECT g.guid, g.subscription_id, g.sent, g.derived FROM subscription.guids g WHERE g.user_id = $1 AND g.guid = sent.guid OFFSET 0
       ) found
     ), u AS (
       SELECT found.* FROM unnest($3::bytea[]) sent (key) CROSS JOIN LATERAL (
         SELECT encode(u.url_sha256, 'hex') AS key, u.subscription_id FROM subscription.feed_urls u
         WHERE u.user_id = $1 AND u.url_sha256 = sent.key OFFSET 0
       ) found
     )
   SELECT
     (SELECT json_agg(json_build_array(g.guid, g.subscription_id, g.sent, g.derived)) FROM g) AS guids,
     (SELECT json_agg(json_build_array(u.key, u.subscription_id)) FROM u) AS urls,
     (SELECT json_agg(row_to_json(r)) FROM (
       SELECT ${columns}, s.deleted IS NOT NULL AND NOT EXISTS (
         SELECT FROM subscription.feed_urls n
         WHERE n.user_id = $1 AND n.url_sha256 = sync.sha256(s.feed_url) AND n.subscription_id = s.id
       ) AS "hasLostUrl"
       FROM subscription.subscriptions s
       WHERE s.user_id = $1 AND s.id IN (SELECT subscription_id FROM g UNION SELECT subscription_id FROM u)
     ) r) AS rows,
     (SELECT json_agg(nextval('subscription.subscription_id')) FROM generate_series(1, $4)) AS "newIds",
     CASE WHEN $5::bigint IS NOT NULL THEN json_build_object(
       'live', ${left('$5', 'subscriptions', 'merged_into IS NULL AND deleted IS NULL')},
       'pointers', ${left('$6', 'subscriptions', 'merged_into IS NOT NULL')},
       'guidChanges', ${left('$6', 'former_guids')},
       'guids', ${left('$6', 'guids')},
       'urls', ${left('$6', 'feed_urls')}
     ) END AS left,
     ${instant('clock_timestamp()')} AS now`,
);

/** $1 user, $2 subscriptions, $3 how far to count. */
export const states = statement(
  'subscription.count_states',
  'SELECT subscription_id AS id, states FROM episode.count_states($1, $2::bigint[], $3)',
);

/** $1 user, $2 merged subscriptions, $3 what each is part of in the end, $4 stamp. */
export const absorbNames = statement(
  'subscription.absorb_names',
  `WITH guids AS (
     UPDATE subscription.guids g SET subscription_id = m.survivor, attached = $4
     FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor) WHERE g.user_id = $1 AND g.subscription_id = m.merged
   ), urls AS (
     UPDATE subscription.feed_urls u SET subscription_id = m.survivor
     FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor) WHERE u.user_id = $1 AND u.subscription_id = m.merged
   )
   UPDATE subscription.subscriptions s SET merged_into = m.survivor, merged_at = $4, changed = $4
   FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor) WHERE s.user_id = $1 AND s.merged_into = m.merged`,
);

/** $1 user, $2 merged subscriptions, $3 the survivor of each, $4 stamp, $5 quota of aliases of sync_ids. */
export const absorbStates = statement(
  'subscription.absorb_states',
  'SELECT episode.merge_subscriptions($1, $2::bigint[], $3::bigint[], $4, $5)',
);

/** What {@link saveRows} does alone, and {@link save} with the names. */
const savedRows = `
     INSERT INTO subscription.subscriptions AS s (
       user_id, id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, guid_changed, declared_guids,
       deletion_id, deleted, merged_into, merged_at, changed
     )
     SELECT $1, r.id, r."feedUrl", r.guid, r."isSubscribed", r."subscribedAt", r."subscriptionChanged", r."guidChanged",
       r."declaredGuids", r."deletionId", r.deleted, r."mergedInto", r."mergedAt", r.changed
     FROM json_to_recordset($2) AS r (
       id bigint, "feedUrl" text, guid uuid, "isSubscribed" boolean, "subscribedAt" timestamptz,
       "subscriptionChanged" timestamptz, "guidChanged" timestamptz, "declaredGuids" integer, "deletionId" bigint,
       deleted timestamptz, "mergedInto" bigint, "mergedAt" timestamptz, changed timestamptz
     )
     -- A deletion may end in FAILURE at the same time, which takes it off the row: only what takes it off is written.
     ON CONFLICT (user_id, id) DO UPDATE SET
       feed_url = excluded.feed_url, guid = excluded.guid, is_subscribed = excluded.is_subscribed,
       is_subscribed_at = excluded.is_subscribed_at, subscription_changed = excluded.subscription_changed,
       guid_changed = excluded.guid_changed, declared_guids = excluded.declared_guids,
       deletion_id = CASE WHEN excluded.deletion_id IS NOT NULL THEN s.deletion_id END,
       deleted = excluded.deleted, merged_into = excluded.merged_into, merged_at = excluded.merged_at,
       changed = excluded.changed`;

/** $1 user, $2 rows: all that most writes to a known subscription change. */
export const saveRows = statement('subscription.save_rows', savedRows);

/** $1 user, $2 rows, $3 guids, $4 URLs, $5 former guids, $6 stamp. */
export const save = statement(
  'subscription.save',
  `WITH rows AS (${savedRows}
   ), guids AS (
     INSERT INTO subscription.guids (user_id, guid, subscription_id, sent, derived, attached)
     SELECT $1, (g ->> 0)::uuid, (g ->> 1)::bigint, (g ->> 2)::boolean, (g ->> 3)::boolean, $6 FROM json_array_elements($3) g
     ON CONFLICT (user_id, guid) DO UPDATE SET
       subscription_id = excluded.subscription_id, sent = excluded.sent, derived = excluded.derived,
       attached = CASE WHEN guids.subscription_id <> excluded.subscription_id THEN excluded.attached ELSE guids.attached END
     WHERE (guids.subscription_id, guids.sent, guids.derived) <> (excluded.subscription_id, excluded.sent, excluded.derived)
   ), urls AS (
     INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
     SELECT $1, decode(u ->> 0, 'hex'), (u ->> 1)::bigint FROM json_array_elements($4) u
     ON CONFLICT (user_id, url_sha256) DO UPDATE SET subscription_id = excluded.subscription_id
     WHERE feed_urls.subscription_id <> excluded.subscription_id
   )
   INSERT INTO subscription.former_guids (user_id, subscription_id, replaced, guid)
   SELECT $1, (f ->> 0)::bigint, $6, (f ->> 1)::uuid FROM json_array_elements($5) f`,
);

export const byGuid = statement(
  'subscription.by_guid',
  `SELECT ${columns}, g.attached
   FROM subscription.guids g JOIN subscription.subscriptions s ON s.user_id = g.user_id AND s.id = g.subscription_id
   WHERE g.user_id = $1 AND g.guid = $2`,
);

/** Each row r, the survivor s that it was merged into, and the guid under which the client has seen it. */
const shownRows = `subscription.subscriptions r
  LEFT JOIN subscription.subscriptions s ON s.user_id = r.user_id AND s.id = r.merged_into
  CROSS JOIN LATERAL (
    SELECT CASE WHEN r.guid_changed > $2 THEN coalesce(
      (SELECT f.guid FROM subscription.former_guids f
       WHERE f.user_id = r.user_id AND f.subscription_id = r.id AND f.replaced > $2
       ORDER BY f.replaced LIMIT 1), r.guid) ELSE r.guid END AS guid
  ) seen`;

/**
 * One row for each subscription that changed. "guid" is the guid it had at "since", or its first one without "since". A
 * merged subscription shows its survivor, and is left out where the survivor has the same guid.
 */
export const list = listing('subscription.list', {
  row: 'r',
  columns: `r.id, seen.guid, coalesce(s.guid, r.guid) AS "newGuid",
    CASE WHEN s.id IS NULL THEN r.guid_changed ELSE greatest(r.merged_at, s.guid_changed) END AS "guidChanged",
    coalesce(s.feed_url, r.feed_url) AS "feedUrl", coalesce(s.is_subscribed, r.is_subscribed) AS "isSubscribed",
    coalesce(s.subscription_changed, r.subscription_changed) AS "subscriptionChanged",
    CASE WHEN s.id IS NULL THEN r.deleted ELSE s.deleted END AS deleted`,
  matching: shownRows,
  where: '(s.id IS NULL OR seen.guid <> s.guid)',
});

interface ListRow {
  guid: string;
  newGuid: string;
  guidChanged: string | null;
  feedUrl: string;
  isSubscribed: boolean;
  subscriptionChanged: string;
  deleted: string | null;
}

/** A row, and when the guid by which it was asked for became its name. */
export type NamedRow = SubscriptionRow & { attached: string };

type Found = { [Part in keyof Loaded]: Loaded[Part] | null };

/** What a write is about, and the user's quotas. */
interface Names {
  guids: string[];
  urls: string[];
  newRows: number;
  /** Not counted for a write that adds none. */
  quotas: SubscriptionQuotas | undefined;
}

/** The statement that reads everything that the guids and URLs of a write name; {@link toLoaded} reads its answer. */
export function named(userId: string, { guids, urls, newRows, quotas }: Names): Bound<Found> {
  const keys = urls.map((url) => Buffer.from(urlKey(url), 'hex'));
  const limits = quotas ? [quotas.QUOTA_LIVE_SUBSCRIPTIONS, quotas.QUOTA_SUBSCRIPTION_NAMES] : [null, null];
  return [load, [userId, guids, keys, newRows, ...limits]];
}

export function toLoaded([found]: readonly Found[]): Loaded {
  return {
    rows: (found?.rows ?? []).map(withStamps),
    guids: found?.guids ?? [],
    urls: found?.urls ?? [],
    newIds: found?.newIds ?? [],
    left: found?.left ?? { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 },
    now: found?.now ?? '',
  };
}

/** How many states subscriptions have, counted no further than a POST may merge. */
export async function countStates(
  transaction: Pick<Transaction, 'query'>,
  userId: string,
  ids: readonly number[],
): Promise<Map<number, number>> {
  const counted = await transaction.query<{ id: number; states: number }>(states, [userId, ids, mostStates + 1]);
  return new Map(counted.map((row) => [row.id, row.states]));
}

/** Writes what a write changed: merges of states, then everything else with the commit. */
export async function saveChanges(
  transaction: Transaction,
  userId: string,
  changes: Changes,
  quotas: SubscriptionQuotas,
): Promise<void> {
  const { merges } = changes;
  for (const round of roundsOf(merges.filter(({ hasStates }) => hasStates))) {
    const ids = [round.map(({ from }) => from), round.map(({ into }) => into)];
    await transaction.query(absorbStates, [userId, ...ids, transaction.stamp, quotas.QUOTA_SYNC_ID_ALIASES]);
  }
  const [rows, ...names] = [changes.rows, changes.guids, changes.urls, changes.formerGuids];
  const values = [userId, JSON.stringify(rows)];
  if (names.every((set) => set.length === 0)) transaction.last(saveRows, values);
  else transaction.last(save, [...values, ...names.map((set) => JSON.stringify(set)), transaction.stamp]);
  if (merges.length === 0) return;
  // Afterwards, as a survivor may be new.
  const ids = [merges.map(({ from }) => from), merges.map(({ survivor }) => survivor)];
  transaction.last(absorbNames, [userId, ...ids, transaction.stamp]);
}

export async function findByGuid(database: Database, userId: string, guid: string): Promise<NamedRow | undefined> {
  const [row] = await database.read<NamedRow>(byGuid, [userId, guid]);
  return row;
}

export function listChanged(database: Database, request: ListRequest): Promise<ReplyOf<typeof listSubscriptions>> {
  return listPage(database, list, request, (row: ListRow) => ({
    feed_url: row.feedUrl,
    guid: row.guid,
    is_subscribed: row.isSubscribed,
    subscription_changed: row.subscriptionChanged,
    ...(row.newGuid !== row.guid && {
      new_guid: row.newGuid,
      ...(row.guidChanged && { guid_changed: row.guidChanged }),
    }),
    ...(row.deleted && { deleted: row.deleted }),
  }));
}

/** In JSON Postgres writes times with an offset: makes them stamps. */
function withStamps(row: SubscriptionRow): SubscriptionRow {
  const stamp = (time: string) => new Date(time).toISOString();
  const optional = (time: string | null) => time && stamp(time);
  return {
    ...row,
    subscriptionChanged: stamp(row.subscriptionChanged),
    guidChanged: optional(row.guidChanged),
    deleted: optional(row.deleted),
    mergedAt: optional(row.mergedAt),
  };
}

/** Merges in their order, those at a time that have no subscription in common. */
function roundsOf(merges: readonly Merge[]): Merge[][] {
  const rounds: Merge[][] = [];
  const roundOf = new Map<number, number>();
  for (const merge of merges) {
    const round = 1 + Math.max(roundOf.get(merge.from) ?? -1, roundOf.get(merge.into) ?? -1);
    roundOf.set(merge.from, round).set(merge.into, round);
    (rounds[round] ??= []).push(merge);
  }
  return rounds;
}
