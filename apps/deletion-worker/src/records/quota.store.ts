import { type Bound, statement } from '#database';
import type { DeletionQuotas } from '../deletion-worker.config.js';

/** How many rows beyond a quota one deletion removes at most, so that it holds the user's clock for a bounded time. */
const forgottenAtOnce = 100;

/** How many of a user's rows are beyond $2, counted no further than needed. */
const beyond = (rows: string) =>
  `SELECT greatest(count(*) - $2, 0) FROM (SELECT FROM ${rows} LIMIT $2 + ${forgottenAtOnce}) n`;
const tombstones = 'subscription.subscriptions WHERE user_id = $1 AND merged_into IS NULL AND deleted IS NOT NULL';
const finalRecords = `deletion.deletions WHERE user_id = $1 AND status <> 'PENDING'`;

/**
 * $1 user, $2 how many tombstones there may be: the oldest go, with everything that names them or points to them. One to
 * which many point goes once these have gone.
 */
export const forgetTombstones = statement(
  'deletion.forget_tombstones',
  `WITH oldest AS MATERIALIZED (
     SELECT id FROM ${tombstones} ORDER BY deleted, id LIMIT (${beyond(tombstones)})
   ), pointers AS MATERIALIZED (
     SELECT s.id FROM subscription.subscriptions s JOIN oldest ON s.user_id = $1 AND s.merged_into = oldest.id
     LIMIT ${forgottenAtOnce}
   ), gone AS MATERIALIZED (
     SELECT id FROM pointers
     UNION ALL
     SELECT o.id FROM oldest o WHERE NOT EXISTS (
       SELECT FROM subscription.subscriptions s
       WHERE s.user_id = $1 AND s.merged_into = o.id AND s.id NOT IN (SELECT id FROM pointers)
     )
   ), guids AS (
     DELETE FROM subscription.guids g USING gone WHERE g.user_id = $1 AND g.subscription_id = gone.id RETURNING g.guid
   ), urls AS (
     DELETE FROM subscription.feed_urls u USING gone WHERE u.user_id = $1 AND u.subscription_id = gone.id RETURNING u.url_sha256
   ), changes AS (
     DELETE FROM subscription.former_guids f USING gone WHERE f.user_id = $1 AND f.subscription_id = gone.id RETURNING f.guid
   ), total AS (
     UPDATE subscription.totals t
     SET pointers = greatest(t.pointers - (SELECT count(*) FROM pointers), 0),
       guid_changes = greatest(t.guid_changes - (SELECT count(*) FROM changes), 0),
       guids = greatest(t.guids - (SELECT count(*) FROM guids), 0),
       urls = greatest(t.urls - (SELECT count(*) FROM urls), 0)
     WHERE t.user_id = $1 AND EXISTS (SELECT FROM gone)
   )
   DELETE FROM subscription.subscriptions s USING gone WHERE s.user_id = $1 AND s.id = gone.id`,
);

/** $1 user, $2 how many records that have ended there may be: the oldest go. */
export const forgetRecords = statement(
  'deletion.forget_records',
  `DELETE FROM deletion.deletions d
   WHERE d.user_id = $1 AND d.id = ANY (ARRAY(SELECT id FROM ${finalRecords} ORDER BY finished, id LIMIT (${beyond(finalRecords)})))`,
);

/** The statements that remove what is beyond a user's quotas. */
export function beyondQuotas(userId: string, quotas: DeletionQuotas): Record<'tombstones' | 'records', Bound> {
  return {
    tombstones: [forgetTombstones, [userId, quotas.QUOTA_TOMBSTONES]],
    records: [forgetRecords, [userId, quotas.QUOTA_DELETION_RECORDS]],
  };
}
