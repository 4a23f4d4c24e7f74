import type { DeletionStatus } from '#contracts';
import { type Database, type Session, statement, type Transaction } from '#database';

/** A deletion and the row it was made for, as the cascade finds them. */
export interface Claimed {
  status: DeletionStatus;
  subscriptionId: number;
  /** Whether the subscription is still what the request was for: live, not merged, and not added again since. */
  stands: boolean;
}

/** A record whose job is to be sent. */
export interface Unsent {
  userId: string;
  deletionId: number;
  /** The number of the job; the ones before it ended or were lost. */
  send: number;
}

const find = statement(
  'deletion.find',
  `SELECT n.subscription_id AS "subscriptionId", d.id AS "deletionId", d.requested < n.added AS overtaken
   FROM subscription.named_subscriptions n
   LEFT JOIN deletion.deletions d
     ON d.user_id = n.user_id AND d.subscription_id = n.subscription_id AND d.status = 'PENDING'
   WHERE n.user_id = $1 AND n.guid = $2 AND n.live`,
);

const insert = statement(
  'deletion.insert',
  'INSERT INTO deletion.deletions (user_id, subscription_id, requested) VALUES ($1, $2, $3) RETURNING id',
);

const end = statement(
  'deletion.end',
  `UPDATE deletion.deletions SET status = $3, cause = $4, finished = clock_timestamp()
   WHERE user_id = $1 AND id = $2 AND status = 'PENDING'`,
);

const read = statement('deletion.read', 'SELECT status FROM deletion.deletions WHERE user_id = $1 AND id = $2');

const countAttempt = statement(
  'deletion.count_attempt',
  `UPDATE deletion.deletions SET attempts = attempts + 1
   WHERE user_id = $1 AND id = $2 AND status = 'PENDING' RETURNING attempts`,
);

const lockClock = statement('sync.lock_clock', 'SELECT sync.lock_clock($1)');

const claim = statement(
  'deletion.claim',
  `SELECT d.status, d.subscription_id AS "subscriptionId",
     coalesce(s.deleted IS NULL AND s.merged_into IS NULL AND s.added <= d.requested, false) AS stands
   FROM deletion.deletions d
   LEFT JOIN subscription.subscriptions s ON s.user_id = d.user_id AND s.id = d.subscription_id
   WHERE d.user_id = $1 AND d.id = $2
   FOR UPDATE OF d`,
);

const cascade = statement(
  'deletion.cascade',
  `WITH clock AS (SELECT sync.advance_clock($1) AS stamp),
   episodes AS (
     DELETE FROM episode.episodes WHERE user_id = $1 AND subscription_id = $3 RETURNING id
   ), sync_ids AS (
     DELETE FROM episode.sync_ids s USING episodes e WHERE s.user_id = $1 AND s.episode_id = e.id
   ), tombstone AS (
     UPDATE subscription.subscriptions s
     SET is_subscribed = false, subscription_changed = c.stamp, deleted = c.stamp, changed = c.stamp
     FROM clock c WHERE s.user_id = $1 AND s.id = $3
   )
   UPDATE deletion.deletions d SET status = 'SUCCESS', finished = clock_timestamp() WHERE d.user_id = $1 AND d.id = $2`,
);

/** What was never sent, or was sent a while ago and is not finished; rows another relay holds are left to it. */
const due = statement(
  'deletion.due',
  `SELECT user_id AS "userId", id AS "deletionId", send FROM deletion.deletions
   WHERE status = 'PENDING' AND (sent_at IS NULL OR sent_at < now() - $2 * interval '1 millisecond')
   ORDER BY id LIMIT $1
   FOR UPDATE SKIP LOCKED`,
);

const markSent = statement(
  'deletion.mark_sent',
  `UPDATE deletion.deletions d SET send = s.send, sent_at = now()
   FROM unnest($1::uuid[], $2::bigint[], $3::integer[]) s (user_id, id, send)
   WHERE d.user_id = s.user_id AND d.id = s.id AND d.status = 'PENDING'`,
);

/** The live subscription that a guid names, and its pending deletion. */
export async function findSubscription(transaction: Transaction, userId: string, guid: string) {
  type Found = { subscriptionId: number; deletionId: number | null; overtaken: boolean | null };
  const [found] = await transaction.query<Found>(find, [userId, guid]);
  return found;
}

export async function insertDeletion(
  transaction: Transaction,
  userId: string,
  subscriptionId: number,
): Promise<number> {
  const [made] = await transaction.query<{ id: number }>(insert, [userId, subscriptionId, transaction.stamp]);
  return (made as { id: number }).id;
}

/** Ends a deletion inside a write, with nothing deleted. */
export async function endInFailure(transaction: Transaction, userId: string, deletionId: number, cause: string) {
  await transaction.query(end, [userId, deletionId, 'FAILURE', cause]);
}

/** Ends a deletion in a transaction of its own, with nothing deleted. A final state stays. */
export async function fail(database: Database, userId: string, deletionId: number, cause: string): Promise<void> {
  await database.read(end, [userId, deletionId, 'FAILURE', cause]);
}

export async function readStatus(database: Database, userId: string, id: number): Promise<DeletionStatus | undefined> {
  const [record] = await database.read<{ status: DeletionStatus }>(read, [userId, id]);
  return record?.status;
}

/** Counts one more failed attempt. @returns how many there were, none if the deletion has ended. */
export async function addAttempt(database: Database, userId: string, deletionId: number): Promise<number | undefined> {
  const [record] = await database.read<{ attempts: number }>(countAttempt, [userId, deletionId]);
  return record?.attempts;
}

/** Locks the user's clock and then the record, so that nothing of the user's changes until the transaction ends. */
export async function claimDeletion(
  session: Session,
  userId: string,
  deletionId: number,
): Promise<Claimed | undefined> {
  await session.query(lockClock, [userId]);
  const [claimed] = await session.query<Claimed>(claim, [userId, deletionId]);
  return claimed;
}

/** Deletes everything and marks the record, under one stamp, and commits. */
export async function commitCascade(session: Session, userId: string, deletionId: number, subscriptionId: number) {
  await session.commit([cascade, [userId, deletionId, subscriptionId]]);
}

/** Ends a claimed deletion with nothing deleted, and commits. */
export async function commitFailure(session: Session, userId: string, deletionId: number, cause: string) {
  await session.commit([end, [userId, deletionId, 'FAILURE', cause]]);
}

export function claimDue(session: Session, limit: number, resendAfterMs: number): Promise<Unsent[]> {
  return session.query<Unsent>(due, [limit, resendAfterMs]);
}

/** Marks records as sent, and commits. */
export async function commitSent(session: Session, sent: readonly Unsent[]): Promise<void> {
  const columns = [sent.map((row) => row.userId), sent.map((row) => row.deletionId), sent.map((row) => row.send)];
  await session.commit([markSent, columns]);
}
