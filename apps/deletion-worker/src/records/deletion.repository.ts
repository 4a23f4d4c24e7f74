import type { DeletionStatus, listDeletions, ReplyOf, RequestOf } from '#contracts';
import {
  addEvent,
  advanceClock,
  type Bound,
  clockOfUser,
  type Database,
  isoTimeSql,
  type PgTransaction,
  type Statement,
  statement,
  type Transaction,
  unlessRefused,
} from '#database';
import type { DeletionOutcome } from './deletion.rules.js';

/** The subscription of a DELETE, with its PENDING deletion if there is one. */
export interface MatchedSubscription {
  subscriptionId: number;
  /** False for a tombstone. */
  isLive: boolean;
  isSubscribed: boolean;
  /** Time of the listener's last change of `is_subscribed`, UTC with microseconds. */
  subscribedAt: string;
  /** The id of the PENDING deletion; null without one. */
  deletionId: number | null;
  /** True if a later write cancelled the deletion: the subscription no longer refers to it. */
  isOvertaken: boolean;
  /** Time of the database, UTC with microseconds. */
  now: string;
}

/** A locked deletion with its subscription. */
interface ClaimedDeletion {
  status: DeletionStatus;
  subscriptionId: number;
  /** True if the subscription is live, not merged, and still refers to the deletion. */
  isCurrent: boolean;
  /** Time since the request in seconds. */
  age: number;
}

/** Reads a {@link MatchedSubscription}. $1 user, $2 guid. */
export const findSubscription = statement(
  'deletion.find_subscription',
  `SELECT n.subscription_id AS "subscriptionId", n.is_live AS "isLive",
     n.is_subscribed AS "isSubscribed",
     ${isoTimeSql('n.is_subscribed_at')} AS "subscribedAt",
     d.id AS "deletionId", d.id IS DISTINCT FROM n.deletion_id AS "isOvertaken",
     ${isoTimeSql('clock_timestamp()')} AS now
   FROM subscription.subscriptions_by_guid n
   LEFT JOIN deletion.deletions d
     ON d.user_id = $1 AND d.subscription_id = n.subscription_id AND d.status = 'PENDING'
   WHERE n.user_id = $1 AND n.guid = $2`,
);

/**
 * Inserts a PENDING record. $1 user, $2 subscription, $3 stamp of the request, $4 trace headers and
 * correlation id of the request.
 */
const insertRecord = statement(
  'deletion.insert_record',
  'SELECT deletion.add_pending($1, $2, $3, $4) AS id',
);

/**
 * Stores a deletion and the time of its DELETE in the row of the subscription. $1 user, $2
 * subscription, $3 deletion, or NULL to keep that of the row, $4 time of the DELETE. An earlier $4
 * does not change the row's time.
 */
export const linkDeletion = statement(
  'deletion.link_deletion',
  `UPDATE subscription.subscriptions
   SET deletion_id = coalesce($3, deletion_id),
     is_subscribed_at = greatest(is_subscribed_at, $4::timestamptz)
   WHERE user_id = $1 AND id = $2`,
);

/**
 * Ends a PENDING record, clears the reference to it in the row of its subscription, and returns the
 * age of the record in seconds. $1 user, $2 deletion, $3 final state, $4 cause of a FAILURE, $5
 * kinds of events as bits.
 */
const endRecord = statement(
  'deletion.end_record',
  'SELECT age FROM deletion.end_pending($1, $2, $3, $4, $5)',
);

/** Reads the state of a record. $1 user, $2 deletion. */
export const selectStatus = statement(
  'deletion.select_status',
  `SELECT c.refused, d.status FROM ${clockOfUser} c
   LEFT JOIN deletion.deletions d ON d.user_id = $1 AND d.id = $2`,
);

/** Reads a page of records. $1 user, $2 last id of the previous page, $3 maximum number of rows. */
const selectRecords = statement(
  'deletion.select_records',
  `SELECT c.refused, found.* FROM ${clockOfUser} c
   LEFT JOIN (
     SELECT d.id, d.status, d.requested, d.finished FROM deletion.deletions d
     WHERE d.user_id = $1 AND d.id > $2 ORDER BY d.id LIMIT $3
   ) found ON true
   ORDER BY found.id`,
);

const countAttempt = statement(
  'deletion.count_attempt',
  'SELECT attempts FROM deletion.count_attempt($1, $2)',
);

/** Locks the clock of user $1. All other writes of the user then wait. */
const lockClock = statement('sync.lock_clock', 'SELECT sync.lock_clock($1)');

/** Disables bitmap scans until the commit. The cascade then uses episode.episodes_subscription. */
const avoidBitmaps = statement(
  'deletion.avoid_bitmaps',
  `SELECT set_config('enable_bitmapscan', 'off', true)`,
);

/** Reads one episode of a subscription. $1 user, $2 subscription. */
const findEpisode = statement(
  'deletion.find_episode',
  `SELECT e.id FROM episode.episodes e WHERE e.user_id = $1 AND e.subscription_id = $2 LIMIT 1`,
);

/** Locks a record and reads it as a {@link ClaimedDeletion}. $1 user, $2 deletion. */
const claimRecord = statement(
  'deletion.claim_record',
  `SELECT status, subscription_id AS "subscriptionId", is_current AS "isCurrent", age
   FROM deletion.claim($1, $2)`,
);

/**
 * Deletes the episodes of a subscription and makes it a tombstone without a title. $1 user, $2
 * subscription, $3 the new stamp of the clock. The statement must not contain an INSERT or call a
 * function that reads tables, because Citus would then send the rows of each CTE to all nodes.
 */
export const deleteSubscription = statement(
  'deletion.delete_subscription',
  `WITH episodes AS (
     DELETE FROM episode.episodes WHERE user_id = $1 AND subscription_id = $2 RETURNING id
   ), states AS (
     DELETE FROM episode.states s USING episodes e WHERE s.user_id = $1 AND s.id = e.id
   ), sync_ids AS (
     DELETE FROM episode.sync_ids s USING episodes e WHERE s.user_id = $1 AND s.episode_id = e.id
     RETURNING s.sync_id
   ), total AS (
     UPDATE episode.totals t
     SET episodes = t.episodes - deleted.episodes,
       sync_ids = greatest(t.sync_ids - deleted.sync_ids, 0)
     FROM (
       SELECT (SELECT count(*) FROM episodes) AS episodes,
         (SELECT count(*) FROM sync_ids) AS sync_ids
     ) deleted
     WHERE t.user_id = $1 AND deleted.episodes > 0
   ), subscriptions AS (
     UPDATE subscription.totals t SET live = greatest(t.live - 1, 0)
     FROM subscription.subscriptions s
     WHERE t.user_id = $1 AND s.user_id = $1 AND s.id = $2 AND s.deleted IS NULL
       AND s.merged_into IS NULL
   )
   UPDATE subscription.subscriptions s
   SET is_subscribed = false,
     flipped = CASE WHEN s.is_subscribed THEN $3::timestamptz ELSE s.flipped END,
     subscription_changed = $3::timestamptz, deleted = $3::timestamptz, changed = $3::timestamptz,
     title = NULL, title_at = NULL
   WHERE s.user_id = $1 AND s.id = $2`,
);

/**
 * Reads the id of the latest deletion at the time of a request. An earlier run of the request
 * returned this id. $1 user, $2 guid and $3 stamp of the request.
 */
const findRequested = statement(
  'deletion.find_requested',
  `SELECT d.id AS "deletionId" FROM subscription.subscriptions_by_guid n
   JOIN deletion.deletions d ON d.user_id = $1 AND d.subscription_id = n.subscription_id
     AND d.requested <= $3
   WHERE n.user_id = $1 AND n.guid = $2
   ORDER BY d.requested DESC LIMIT 1`,
);

/** Inserts a PENDING record. @returns its id. */
export async function insertDeletion(
  transaction: Transaction,
  userId: string,
  subscriptionId: number,
  origin: Readonly<Record<string, string>>,
): Promise<number> {
  const values = [userId, subscriptionId, transaction.stamp, JSON.stringify(origin)];
  const [row] = await transaction.query<{ id: number }>(insertRecord, values);
  return (row as { id: number }).id;
}

/** Returns the deletion id that the first run of a repeated request returned, else undefined. */
export async function findRequestedDeletion(
  transaction: Transaction,
  userId: string,
  guid: string,
): Promise<number | undefined> {
  const values = [userId, guid, transaction.stamp];
  const [record] = await transaction.query<{ deletionId: number }>(findRequested, values);
  return record?.deletionId;
}

/**
 * Returns the statement that sets a PENDING deletion to its outcome, unlinks its subscription, and
 * adds the event. The statement returns the record's age in seconds, or no row if it was final.
 */
export function endStatement(
  database: Pick<Database, 'eventBits'>,
  userId: string,
  deletionId: number,
  outcome: DeletionOutcome,
): [Statement, unknown[]] {
  return [
    endRecord,
    [userId, deletionId, outcome.status, outcome.cause, database.eventBits(['deletions'])],
  ];
}

/**
 * Advances the clock. @returns the statements that delete a subscription with its episodes and add
 * the event. The caller must send them with the commit.
 */
export async function startCascade(
  transaction: PgTransaction,
  database: Pick<Database, 'eventBits'>,
  userId: string,
  subscriptionId: number,
): Promise<Bound[]> {
  const [, [clock], [episode]] = await Promise.all([
    transaction.query(avoidBitmaps, []),
    transaction.query<{ stamp: string }>(advanceClock, [userId]),
    transaction.query(findEpisode, [userId, subscriptionId]),
  ]);
  const bits = database.eventBits(['subscriptions', ...(episode ? (['episodes'] as const) : [])]);
  const { stamp } = clock as { stamp: string };
  return [
    [deleteSubscription, [userId, subscriptionId, stamp]],
    ...(bits === 0 ? [] : [[addEvent, [userId, bits]] as const]),
  ];
}

/**
 * Ends a deletion in its own transaction.
 *
 * @returns the time since the request in seconds; undefined if the record was already final.
 */
export async function endDeletion(
  database: Database,
  userId: string,
  deletionId: number,
  ending: DeletionOutcome,
): Promise<number | undefined> {
  const [record] = await database.change<{ age: number }>(
    ...endStatement(database, userId, deletionId, ending),
  );
  return record?.age;
}

/**
 * Reads the state of a record; undefined without such a record.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function readStatus(
  database: Database,
  userId: string,
  id: number,
): Promise<DeletionStatus | undefined> {
  const [record] = await database.read<{ status: DeletionStatus | null; refused: number | null }>(
    selectStatus,
    [userId, id],
  );
  return unlessRefused(record).status ?? undefined;
}

/** Reads a page of a user's records. @throws Failure `unauthorized` for a refused user. */
export async function readPage(
  database: Database,
  { userId, after, perPage }: RequestOf<typeof listDeletions>,
): Promise<ReplyOf<typeof listDeletions>> {
  type Row = {
    refused: number | null;
    id: number | null;
    status: DeletionStatus;
    requested: string;
    finished: string;
  };
  const rows = await database.read<Row>(selectRecords, [userId, after, perPage + 1]);
  unlessRefused(rows[0]);
  const records = rows.filter((row) => row.id !== null).slice(0, perPage);
  const deletions = records.map(({ id, status, requested, finished }) => ({
    deletion_id: id as number,
    status,
    requested,
    finished,
  }));
  return { deletions, more: rows.length > perPage };
}

/** Counts a failed attempt. @returns the number of attempts; undefined if the record is final. */
export async function addAttempt(
  database: Database,
  userId: string,
  deletionId: number,
): Promise<number | undefined> {
  const [record] = await database.change<{ attempts: number }>(countAttempt, [userId, deletionId]);
  return record?.attempts;
}

/**
 * Locks the user's clock and then the record. All other writes of the user wait until the commit.
 * @returns undefined if the record does not exist.
 */
export async function claimDeletion(
  transaction: PgTransaction,
  userId: string,
  deletionId: number,
): Promise<ClaimedDeletion | undefined> {
  const [, [claimed]] = await Promise.all([
    transaction.query(lockClock, [userId]),
    transaction.query<ClaimedDeletion>(claimRecord, [userId, deletionId]),
  ]);
  return claimed;
}
