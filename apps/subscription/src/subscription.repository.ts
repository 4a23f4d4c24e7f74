import { urlKey } from '#contracts';
import {
  type Bound,
  clockOfUser,
  type Database,
  isoTimeSql,
  statement,
  type Transaction,
  unlessRefused,
} from '#database';
import { type SubscriptionChanges, type Snapshot, type Merge } from './subscription-set.js';
import { maxMergedStates } from './merge-budget.js';
import { quotaKinds } from './remaining-quota.js';
import type { SubscriptionQuotas } from './subscription.config.js';
import type { SubscriptionRow } from './subscription-row.js';

const subscriptionColumns = `
  s.id, s.feed_url AS "feedUrl", s.guid, s.is_subscribed AS "isSubscribed",
  ${isoTimeSql('s.is_subscribed_at')} AS "subscribedAt",
  s.subscription_changed AS "subscriptionChanged", s.flipped AS "flippedAt",
  s.guid_changed AS "guidChanged",
  s.declared_guids AS "declaredGuids", s.deletion_id AS "deletionId", s.deleted,
  s.merged_into AS "mergedInto", s.merged_at AS "mergedAt", s.has_lost_url AS "hasLostUrl",
  s.title, ${isoTimeSql('s.title_at')} AS "titleAt"`;

const selectRemainingQuota = (limit: string, total: string) =>
  `${limit}::bigint - coalesce(max(t.${total}), 0)`;

/**
 * Reads a {@link Snapshot}: the subscriptions that have or had guids or URLs. It also reserves ids
 * and reads the remaining quotas. $1 user, $2 guids, $3 lookup keys of URLs, $4 number of ids, $5
 * quota of live subscriptions, $6 quota of each other kind.
 */
export const selectSnapshot = statement(
  'subscription.select_snapshot',
  `WITH g AS (
       SELECT found.* FROM unnest($2::uuid[]) sent (guid) CROSS JOIN LATERAL (
         SELECT g.guid, g.subscription_id, g.sent, g.derived FROM subscription.guids g
         WHERE g.user_id = $1 AND g.guid = sent.guid OFFSET 0
       ) found
     ), u AS (
       SELECT found.* FROM unnest($3::bytea[]) sent (key) CROSS JOIN LATERAL (
         SELECT encode(u.url_sha256, 'hex') AS key, u.subscription_id
         FROM subscription.feed_urls u WHERE u.user_id = $1 AND u.url_sha256 = sent.key OFFSET 0
       ) found
     )
   SELECT
     (SELECT json_agg(json_build_array(g.guid, g.subscription_id, g.sent, g.derived))
      FROM g) AS guids,
     (SELECT json_agg(json_build_array(u.key, u.subscription_id)) FROM u) AS urls,
     (SELECT json_agg(r) FROM (
       SELECT ${subscriptionColumns} FROM subscription.subscriptions s
       WHERE s.user_id = $1
         AND s.id IN (SELECT subscription_id FROM g UNION SELECT subscription_id FROM u)
     ) r) AS rows,
     (SELECT json_agg(nextval('subscription.subscription_id'))
      FROM generate_series(1, $4)) AS "newIds",
     (SELECT json_build_object(
        'live', ${selectRemainingQuota('$5', 'live')},
        'pointers', ${selectRemainingQuota('$6', 'pointers')},
        'guidChanges', ${selectRemainingQuota('$6', 'guid_changes')},
        'guids', ${selectRemainingQuota('$6', 'guids')},
        'urls', ${selectRemainingQuota('$6', 'urls')}
      )
      FROM subscription.totals t WHERE t.user_id = $1) AS remaining,
     ${isoTimeSql('clock_timestamp()')} AS now`,
);

/** Counts the episode states of each subscription of $2, up to $3 per subscription. $1 user. */
const selectStateCounts = statement(
  'subscription.select_state_counts',
  'SELECT subscription_id AS id, states FROM episode.count_states($1, $2::bigint[], $3)',
);

/**
 * Moves the guids, URLs and pointers of merged subscriptions to their survivors. $1 user, $2 merged
 * subscriptions, $3 the survivor of each after all merges of the write, $4 stamp.
 */
export const moveAliases = statement(
  'subscription.move_aliases',
  `WITH guids AS (
     UPDATE subscription.guids g SET subscription_id = m.survivor, attached = $4
     FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor)
     WHERE g.user_id = $1 AND g.subscription_id = m.merged
   ), urls AS (
     UPDATE subscription.feed_urls u SET subscription_id = m.survivor
     FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor)
     WHERE u.user_id = $1 AND u.subscription_id = m.merged
   )
   UPDATE subscription.subscriptions s SET merged_into = m.survivor, merged_at = $4, changed = $4
   FROM unnest($2::bigint[], $3::bigint[]) m (merged, survivor)
   WHERE s.user_id = $1 AND s.merged_into = m.merged`,
);

/**
 * Merges the episodes of subscriptions. $1 user, $2 merged subscriptions, $3 the survivor of each,
 * $4 stamp, $5 quota of aliases.
 */
const mergeStates = statement(
  'subscription.merge_states',
  'SELECT episode.merge_subscriptions($1, $2::bigint[], $3::bigint[], $4, $5)',
);

/** SQL that inserts or updates subscriptions. $1 user, $2 JSON array of rows. */
const upsertRows = `
     INSERT INTO subscription.subscriptions AS s (
       user_id, id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, flipped,
       guid_changed, declared_guids, deletion_id, deleted, merged_into, merged_at, changed,
       has_lost_url, title, title_at
     )
     SELECT $1, r.id, r."feedUrl", r.guid, r."isSubscribed", r."subscribedAt",
       r."subscriptionChanged", r."flippedAt", r."guidChanged", r."declaredGuids", r."deletionId",
       r.deleted, r."mergedInto", r."mergedAt", r.changed, r."hasLostUrl", r.title, r."titleAt"
     FROM json_to_recordset($2) AS r (
       id bigint, "feedUrl" text, guid uuid, "isSubscribed" boolean, "subscribedAt" timestamptz,
       "subscriptionChanged" timestamptz, "flippedAt" timestamptz, "guidChanged" timestamptz,
       "declaredGuids" integer, "deletionId" bigint, deleted timestamptz, "mergedInto" bigint,
       "mergedAt" timestamptz, changed timestamptz, "hasLostUrl" boolean, title text,
       "titleAt" timestamptz
     )
     -- A write can clear deletion_id but not set it: a deletion that ends in FAILURE between the
     -- read and this statement has cleared it.
     ON CONFLICT (user_id, id) DO UPDATE SET
       feed_url = excluded.feed_url, guid = excluded.guid, is_subscribed = excluded.is_subscribed,
       is_subscribed_at = excluded.is_subscribed_at,
       subscription_changed = excluded.subscription_changed, flipped = excluded.flipped,
       guid_changed = excluded.guid_changed, declared_guids = excluded.declared_guids,
       deletion_id = CASE WHEN excluded.deletion_id IS NOT NULL THEN s.deletion_id END,
       deleted = excluded.deleted, merged_into = excluded.merged_into,
       merged_at = excluded.merged_at,
       changed = excluded.changed, has_lost_url = excluded.has_lost_url,
       title = excluded.title, title_at = excluded.title_at`;

/** Writes only subscriptions, because most writes change no guid or URL. $1 user, $2 rows. */
const saveRows = statement('subscription.save_rows', upsertRows);

/**
 * Writes rows with their guids and URLs. $1 user, $2 rows, $3 guids, $4 URLs, $5 former guids, $6
 * stamp.
 */
const saveRowsAndAliases = statement(
  'subscription.save_rows_and_aliases',
  `WITH rows AS (${upsertRows}
   ), guids AS (
     INSERT INTO subscription.guids (user_id, guid, subscription_id, sent, derived, attached)
     SELECT $1, (g ->> 0)::uuid, (g ->> 1)::bigint, (g ->> 2)::boolean, (g ->> 3)::boolean, $6
     FROM json_array_elements($3) g
     ON CONFLICT (user_id, guid) DO UPDATE SET
       subscription_id = excluded.subscription_id, sent = excluded.sent, derived = excluded.derived,
       attached = CASE
         WHEN guids.subscription_id <> excluded.subscription_id THEN excluded.attached
         ELSE guids.attached
       END
     WHERE (guids.subscription_id, guids.sent, guids.derived)
       <> (excluded.subscription_id, excluded.sent, excluded.derived)
   ), urls AS (
     INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id, url)
     SELECT $1, decode(u ->> 0, 'hex'), (u ->> 1)::bigint, u ->> 2 FROM json_array_elements($4) u
     ON CONFLICT (user_id, url_sha256) DO UPDATE SET
       subscription_id = excluded.subscription_id, url = coalesce(feed_urls.url, excluded.url)
     WHERE feed_urls.subscription_id <> excluded.subscription_id
       OR (feed_urls.url IS NULL AND excluded.url IS NOT NULL)
   )
   INSERT INTO subscription.former_guids (user_id, subscription_id, replaced, guid)
   SELECT $1, (f ->> 0)::bigint, $6, (f ->> 1)::uuid FROM json_array_elements($5) f`,
);

/**
 * Stores the texts of URLs that are no longer current. Before, only the row of the subscription had
 * these texts. $1 user, $2 JSON object of URLs by their lookup keys in hexadecimal.
 */
export const storeFormerUrls = statement(
  'subscription.store_former_urls',
  `UPDATE subscription.feed_urls u SET url = $2::jsonb ->> encode(u.url_sha256, 'hex')
   WHERE u.user_id = $1 AND u.url IS NULL
     AND u.url_sha256 = ANY (ARRAY(
       SELECT decode(key, 'hex') FROM jsonb_object_keys($2::jsonb) key
     ))`,
);

/**
 * Adds to a user's row counts, which quotas limit. $1 user, $2 to $6 increments by kind. Only $2
 * (live) can be negative, and then the user's row exists. `greatest` makes the row to insert valid:
 * Postgres checks its constraints before it detects the conflict and updates the existing row.
 */
const updateTotals = statement(
  'subscription.update_totals',
  `INSERT INTO subscription.totals AS t (user_id, live, pointers, guid_changes, guids, urls)
   VALUES ($1, greatest($2::bigint, 0), $3::bigint, $4::bigint, $5::bigint, $6::bigint)
   ON CONFLICT (user_id) DO UPDATE SET live = t.live + $2, pointers = t.pointers + $3,
     guid_changes = t.guid_changes + $4, guids = t.guids + $5, urls = t.urls + $6`,
);

/** Reads the subscription that has or had guid $2; NULL columns without one. $1 user. */
export const selectByGuid = statement(
  'subscription.select_by_guid',
  `SELECT c.refused, found.* FROM ${clockOfUser} c
   LEFT JOIN (
     SELECT ${subscriptionColumns}, g.attached
     FROM subscription.guids g
     JOIN subscription.subscriptions s ON s.user_id = $1 AND s.id = g.subscription_id
     WHERE g.user_id = $1 AND g.guid = $2
   ) found ON true`,
);

/** A subscription, and the stamp at which it got the requested guid (`attached`). */
type MatchedRow = SubscriptionRow & { attached: string };

/** The result of {@link selectSnapshot}; empty arrays are null. */
export type SnapshotRow = { [Part in keyof Snapshot]: Snapshot[Part] | null };

/** The guids and URLs that a write looks up, and the ids that it reserves. */
interface Lookup {
  guids: string[];
  urls: string[];
  /** Number of ids to reserve for new subscriptions. */
  newRows: number;
  quotas: SubscriptionQuotas;
}

/** Returns the statement {@link selectSnapshot} with its parameters, for {@link toSnapshot}. */
export function selectMatches(userId: string, lookup: Lookup): Bound<SnapshotRow> {
  const { guids, urls, newRows, quotas } = lookup;
  const keys = urls.map((url) => Buffer.from(urlKey(url), 'hex'));
  const quotaValues = [quotas.QUOTA_LIVE_SUBSCRIPTIONS, quotas.QUOTA_SUBSCRIPTION_NAMES];
  return [selectSnapshot, [userId, guids, keys, newRows, ...quotaValues]];
}

/** Converts the result row of {@link selectSnapshot} to a snapshot. */
export function toSnapshot([result]: readonly SnapshotRow[]): Snapshot {
  return {
    rows: (result?.rows ?? []).map(normalizeStamps),
    guids: result?.guids ?? [],
    urls: result?.urls ?? [],
    newIds: result?.newIds ?? [],
    remaining: result?.remaining ?? { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 },
    now: result?.now ?? '',
  };
}

/** Counts the episode states of each subscription, up to {@link maxMergedStates} + 1. */
export async function countStates(
  transaction: Pick<Transaction, 'query'>,
  userId: string,
  ids: readonly number[],
): Promise<Map<number, number>> {
  const countRows = await transaction.query<{ id: number; states: number }>(selectStateCounts, [
    userId,
    ids,
    maxMergedStates + 1,
  ]);
  return new Map(countRows.map((row) => [row.id, row.states]));
}

/**
 * Writes changes. Merges the episodes of merged subscriptions immediately, and queues all other
 * statements to run with the commit.
 */
export async function saveChanges(
  transaction: Transaction,
  userId: string,
  changes: SubscriptionChanges,
  quotas: SubscriptionQuotas,
): Promise<void> {
  const { merges, added } = changes;
  const rounds = groupIntoRounds(merges.filter(({ hasStates }) => hasStates));
  if (rounds.length > 0) transaction.addEventKinds('episodes');
  for (const round of rounds) {
    await transaction.query(mergeStates, [
      userId,
      round.map(({ from }) => from),
      round.map(({ into }) => into),
      transaction.stamp,
      quotas.QUOTA_SYNC_ID_ALIASES,
    ]);
  }
  const [rows, ...aliases] = [changes.rows, changes.guids, changes.urls, changes.formerGuids];
  const values = [userId, JSON.stringify(rows)];
  if (aliases.every((array) => array.length === 0)) transaction.sendWithCommit(saveRows, values);
  else
    transaction.sendWithCommit(saveRowsAndAliases, [
      ...values,
      ...aliases.map((array) => JSON.stringify(array)),
      transaction.stamp,
    ]);
  if (changes.formerUrls.length > 0) {
    const urlsByKey = Object.fromEntries(changes.formerUrls.map((url) => [urlKey(url), url]));
    transaction.sendWithCommit(storeFormerUrls, [userId, JSON.stringify(urlsByKey)]);
  }
  const increments = quotaKinds.map((kind) => added[kind]);
  if (increments.some((increment) => increment !== 0))
    transaction.sendWithCommit(updateTotals, [userId, ...increments]);
  if (merges.length === 0) return;
  // Aliases move after the rows were written, because a survivor can be a new row.
  const mergedIds = merges.map(({ from }) => from);
  const survivorIds = merges.map(({ survivor }) => survivor);
  transaction.sendWithCommit(moveAliases, [userId, mergedIds, survivorIds, transaction.stamp]);
}

/**
 * Returns the subscription that has or had a guid; undefined without one.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function findByGuid(
  database: Database,
  userId: string,
  guid: string,
): Promise<MatchedRow | undefined> {
  const [row] = await database.read<MatchedRow & { refused: number | null }>(selectByGuid, [
    userId,
    guid,
  ]);
  return unlessRefused(row).id === null ? undefined : row;
}

/** Rewrites the stamps of a row to end in `Z`, because Postgres writes a UTC offset in JSON. */
function normalizeStamps(row: SubscriptionRow): SubscriptionRow {
  const toIso = (time: string) => new Date(time).toISOString();
  const toIsoOrNull = (time: string | null) => time && toIso(time);
  return {
    ...row,
    subscriptionChanged: toIso(row.subscriptionChanged),
    flippedAt: toIsoOrNull(row.flippedAt),
    guidChanged: toIsoOrNull(row.guidChanged),
    deleted: toIsoOrNull(row.deleted),
    mergedAt: toIsoOrNull(row.mergedAt),
  };
}

/**
 * Groups merges into rounds, each for one statement. No two merges of a round share a subscription,
 * and merges that share one keep their order.
 */
function groupIntoRounds(merges: readonly Merge[]): Merge[][] {
  const rounds: Merge[][] = [];
  const roundOf = new Map<number, number>();
  for (const merge of merges) {
    const round = 1 + Math.max(roundOf.get(merge.from) ?? -1, roundOf.get(merge.into) ?? -1);
    roundOf.set(merge.from, round).set(merge.into, round);
    (rounds[round] ??= []).push(merge);
  }
  return rounds;
}
