import { type Bound, statement } from '#database';
import type { DeletionQuotas } from '../deletion-worker.config.js';

/**
 * Maximum number of tombstones that one transaction removes, and equally of pointers and of final
 * records. Later deletions remove the other rows. The limit keeps the lock of the user's clock
 * short. Guids and URLs of these rows do not count.
 */
const maxRemovedRows = 100;

/** SQL for the number of a user's rows above the quota $2, at most {@link maxRemovedRows}. */
const countAboveQuota = (rows: string) =>
  `SELECT greatest(count(*) - $2, 0) FROM (SELECT 1 FROM ${rows} LIMIT $2 + ${maxRemovedRows}) n`;
const tombstoneRows =
  'subscription.subscriptions WHERE user_id = $1 AND merged_into IS NULL AND deleted IS NOT NULL';
const finalRecords = `deletion.deletions WHERE user_id = $1 AND status <> 'PENDING'`;

/**
 * Deletes the oldest tombstones above the quota with their guids, URLs and pointers. $1 user, $2
 * quota. A tombstone with too many pointers for one statement stays until later statements have
 * deleted all its pointers.
 */
export const deleteOldestTombstones = statement(
  'deletion.delete_oldest_tombstones',
  `WITH oldest AS MATERIALIZED (
     SELECT id FROM ${tombstoneRows} ORDER BY deleted, id LIMIT (${countAboveQuota(tombstoneRows)})
   ), pointers AS MATERIALIZED (
     SELECT s.id FROM subscription.subscriptions s
     JOIN oldest ON s.user_id = $1 AND s.merged_into = oldest.id
     LIMIT ${maxRemovedRows}
   ), excess AS MATERIALIZED (
     SELECT id FROM pointers
     UNION ALL
     SELECT o.id FROM oldest o WHERE NOT EXISTS (
       SELECT 1 FROM subscription.subscriptions s
       WHERE s.user_id = $1 AND s.merged_into = o.id AND s.id NOT IN (SELECT id FROM pointers)
     )
   ), guids AS (
     DELETE FROM subscription.guids g USING excess
     WHERE g.user_id = $1 AND g.subscription_id = excess.id RETURNING g.guid
   ), urls AS (
     DELETE FROM subscription.feed_urls u USING excess
     WHERE u.user_id = $1 AND u.subscription_id = excess.id RETURNING u.url_sha256
   ), changes AS (
     DELETE FROM subscription.former_guids f USING excess
     WHERE f.user_id = $1 AND f.subscription_id = excess.id RETURNING f.guid
   ), total AS (
     UPDATE subscription.totals t
     SET pointers = greatest(t.pointers - (SELECT count(*) FROM pointers), 0),
       guid_changes = greatest(t.guid_changes - (SELECT count(*) FROM changes), 0),
       guids = greatest(t.guids - (SELECT count(*) FROM guids), 0),
       urls = greatest(t.urls - (SELECT count(*) FROM urls), 0)
     WHERE t.user_id = $1 AND EXISTS (SELECT 1 FROM excess)
   )
   DELETE FROM subscription.subscriptions s USING excess WHERE s.user_id = $1 AND s.id = excess.id`,
);

/** Deletes the oldest final records above the quota. $1 user, $2 quota. */
export const deleteOldestRecords = statement(
  'deletion.delete_oldest_records',
  `DELETE FROM deletion.deletions d
   WHERE d.user_id = $1
     AND d.id = ANY (ARRAY(
       SELECT id FROM ${finalRecords} ORDER BY finished, id LIMIT (${countAboveQuota(finalRecords)})
     ))`,
);

/** Returns the statements that delete a user's oldest rows above the quotas. */
export function createExcessStatements(
  userId: string,
  quotas: DeletionQuotas,
): Record<'tombstones' | 'records', Bound> {
  return {
    tombstones: [deleteOldestTombstones, [userId, quotas.QUOTA_TOMBSTONES]],
    records: [deleteOldestRecords, [userId, quotas.QUOTA_DELETION_RECORDS]],
  };
}
