import type { DeletionStatus, listDeletions, ReplyOf, RequestOf } from '#contracts';
import {
  clockOfUser,
  type Database,
  instant,
  type PgTransaction,
  type Statement,
  statement,
  type Transaction,
  unlessRefused,
} from '#database';
import type { Ending } from './deletion.rule.js';

/** A subscription, and its PENDING deletion; `overtaken` where a later write has won against that. */
export interface Named {
  subscriptionId: number;
  /** Not a tombstone. */
  live: boolean;
  isSubscribed: boolean;
  /** When the listener subscribed or unsubscribed, UTC with microseconds. */
  subscribedAt: string;
  deletionId: number | null;
  overtaken: boolean | null;
}

/** A deletion and the row it was made for, as the cascade finds them. */
interface Claimed {
  status: DeletionStatus;
  subscriptionId: number;
  /** Whether the subscription still is what the request was for: no later write took the deletion off its row. */
  stands: boolean;
  /** How long ago it was requested, in seconds. */
  age: number;
}

/** A record that a relay has taken. No other relay takes it until it is due again. */
export interface Taken {
  userId: string;
  /** None of an erasure, of which a user has one. */
  deletionId: number | null;
  /** The number of its last job. */
  send: number;
  /** Whether that number is new: then a job with it is added, whatever became of earlier ones. */
  fresh: boolean;
  /** Trace headers and request id of the DELETE that made it. */
  origin: Record<string, string> | null;
}

/** $1 user, $2 guid: reads {@link Named}. */
export const find = statement(
  'deletion.find',
  `SELECT n.subscription_id AS "subscriptionId", n.live, n.is_subscribed AS "isSubscribed",
     ${instant('n.is_subscribed_at')} AS "subscribedAt",
     d.id AS "deletionId", d.id IS DISTINCT FROM n.deletion_id AS overtaken
   FROM subscription.named_subscriptions n
   LEFT JOIN deletion.deletions d
     ON d.user_id = n.user_id AND d.subscription_id = n.subscription_id AND d.status = 'PENDING'
   WHERE n.user_id = $1 AND n.guid = $2`,
);

/** $1 user, $2 subscription, $3 stamp of the request, $4 where it comes from. */
export const insert = statement(
  'deletion.insert',
  'INSERT INTO deletion.deletions (user_id, subscription_id, requested, origin) VALUES ($1, $2, $3, $4) RETURNING id',
);

/**
 * $1 user, $2 subscription, $3 its new deletion, $4 when the listener deleted it, by the client's clock. From now on the
 * time of the DELETE stands, or a later one that stood before. Without $3 the row keeps the deletion that it has, which
 * may end at the same time.
 */
export const mark = statement(
  'deletion.mark',
  `UPDATE subscription.subscriptions
   SET deletion_id = coalesce($3, deletion_id), is_subscribed_at = greatest(is_subscribed_at, coalesce($4::timestamptz, clock_timestamp()))
   WHERE user_id = $1 AND id = $2`,
);

/**
 * The only statement that ends a record, if it is PENDING; it takes the deletion off its subscription's row. $1 user, $2
 * deletion, $3 final state, $4 cause, $5 what it leaves in the outbox of events. The database's functions are the only ones that may update or lock records.
 */
export const end = statement('deletion.end', 'SELECT age FROM deletion.end_pending($1, $2, $3, $4, $5)');

/** $1 user, $2 deletion. */
export const read = statement(
  'deletion.read',
  `SELECT c.refused, d.status FROM ${clockOfUser} c LEFT JOIN deletion.deletions d ON d.user_id = $1 AND d.id = $2`,
);

/** $1 user, $2 the id after which the page begins, $3 records at most. */
const list = statement(
  'deletion.list',
  `SELECT c.refused, found.* FROM ${clockOfUser} c
   LEFT JOIN (
     SELECT d.id, d.status, d.requested, d.finished FROM deletion.deletions d
     WHERE d.user_id = $1 AND d.id > $2 ORDER BY d.id LIMIT $3
   ) found ON true
   ORDER BY found.id`,
);

const countAttempt = statement('deletion.count_attempt', 'SELECT attempts FROM deletion.count_attempt($1, $2)');

/** $1 user: holds up all other writes of the user. */
export const lockClock = statement(
  'sync.lock_clock',
  // For the cascade: see the indexes of episode.episodes.
  `SELECT sync.lock_clock($1), set_config('enable_bitmapscan', 'off', true)`,
);

/** $1 user, $2 deletion: locks a record and reads it as {@link Claimed}. */
export const claim = statement(
  'deletion.claim',
  'SELECT status, subscription_id AS "subscriptionId", stands, age FROM deletion.claim($1, $2)',
);

/**
 * $1 user, $2 subscription, $3 and $4 what it leaves in the outbox of events, with and without episodes: deletes its
 * episodes and makes it a tombstone, under one stamp.
 */
export const cascade = statement(
  'deletion.cascade',
  `WITH clock AS (SELECT sync.advance_clock($1) AS stamp),
   episodes AS (
     DELETE FROM episode.episodes WHERE user_id = $1 AND subscription_id = $2 RETURNING id
   ), states AS (
     DELETE FROM episode.states s USING episodes e WHERE s.user_id = $1 AND s.id = e.id
   ), sync_ids AS (
     DELETE FROM episode.sync_ids s USING episodes e WHERE s.user_id = $1 AND s.episode_id = e.id RETURNING s.sync_id
   ), total AS (
     UPDATE episode.totals t
     SET episodes = t.episodes - gone.episodes, sync_ids = greatest(t.sync_ids - gone.sync_ids, 0)
     FROM (SELECT (SELECT count(*) FROM episodes) AS episodes, (SELECT count(*) FROM sync_ids) AS sync_ids) gone
     WHERE t.user_id = $1 AND gone.episodes > 0
   ), subscriptions AS (
     UPDATE subscription.totals t SET live = greatest(t.live - 1, 0)
     FROM subscription.subscriptions s
     WHERE t.user_id = $1 AND s.user_id = $1 AND s.id = $2 AND s.deleted IS NULL AND s.merged_into IS NULL
   ), announced AS (
     INSERT INTO sync.events (user_id, kinds) SELECT $1, k.kinds
     FROM (SELECT CASE WHEN EXISTS (SELECT FROM episodes) THEN $3::smallint ELSE $4::smallint END AS kinds) k
     WHERE k.kinds <> 0
   )
   UPDATE subscription.subscriptions s
   SET is_subscribed = false, flipped = CASE WHEN s.is_subscribed THEN c.stamp ELSE s.flipped END,
     subscription_changed = c.stamp, deleted = c.stamp, changed = c.stamp
   FROM clock c WHERE s.user_id = $1 AND s.id = $2
   RETURNING c.stamp AS moved`,
);

/** $1 user, $2 guid, $3 stamp: what a request for this guid, at this stamp, was answered with. */
const findRequested = statement(
  'deletion.find_requested',
  `SELECT max(d.id) AS "deletionId" FROM subscription.named_subscriptions n
   JOIN deletion.deletions d ON d.user_id = n.user_id AND d.subscription_id = n.subscription_id AND d.requested <= $3
   WHERE n.user_id = $1 AND n.guid = $2`,
);

const taken = 'user_id AS "userId", id AS "deletionId", send, fresh, origin';

/**
 * $1 how many at most, $2 milliseconds: takes PENDING records that have no `sent_at`, or one longer ago than that. One
 * without was never sent, or an operator wants it sent again: it gets the number of a new job. Rows that another relay
 * is taking just now are left to that relay.
 */
const take = statement('deletion.take', `SELECT ${taken} FROM deletion.take($1, $2)`);

/** Numbers new jobs for lost ones. A record that is locked is being ended just now: its job was not lost after all. */
const takeAgain = statement('deletion.take_again', `SELECT ${taken} FROM deletion.take_again($1, $2, $3)`);

/** Adds a PENDING record. @returns its id. */
export async function insertDeletion(
  transaction: Transaction,
  userId: string,
  subscriptionId: number,
  origin: Readonly<Record<string, string>>,
): Promise<number> {
  const values = [userId, subscriptionId, transaction.stamp, JSON.stringify(origin)];
  const [made] = await transaction.query<{ id: number }>(insert, values);
  return (made as { id: number }).id;
}

/** The deletion that a request was answered with, whatever has become of it. */
export async function findRequestedDeletion(
  transaction: Transaction,
  userId: string,
  guid: string,
): Promise<number | undefined> {
  const values = [userId, guid, transaction.stamp];
  const [found] = await transaction.query<{ deletionId: number | null }>(findRequested, values);
  return found?.deletionId ?? undefined;
}

/** What ends a deletion and reads its age in seconds. It changes and reads nothing where that has ended already. */
export function endOf(
  database: Pick<Database, 'announced'>,
  userId: string,
  deletionId: number,
  ending: Ending,
): [Statement, unknown[]] {
  return [end, [userId, deletionId, ending.status, ending.cause, database.announced(['deletions'])]];
}

/** What deletes a subscription with its episodes. */
export function cascadeOf(
  database: Pick<Database, 'announced'>,
  userId: string,
  subscriptionId: number,
): [Statement, unknown[]] {
  const withEpisodes = database.announced(['subscriptions', 'episodes']);
  return [cascade, [userId, subscriptionId, withEpisodes, database.announced(['subscriptions'])]];
}

/** Ends a deletion in a transaction of its own. @returns its age in seconds, none if it had ended already. */
export async function endAlone(
  database: Database,
  userId: string,
  deletionId: number,
  ending: Ending,
): Promise<number | undefined> {
  const [record] = await database.change<{ age: number }>(...endOf(database, userId, deletionId, ending));
  return record?.age;
}

/** @returns the state of a record, none if there is no such record. @throws Failure `unauthorized` for a refused user. */
export async function readStatus(database: Database, userId: string, id: number): Promise<DeletionStatus | undefined> {
  const [record] = await database.read<{ status: DeletionStatus | null; refused: number | null }>(read, [userId, id]);
  return unlessRefused(record).status ?? undefined;
}

/** A page of a user's records. @throws Failure `unauthorized` for a refused user. */
export async function readPage(
  database: Database,
  { userId, after, perPage }: RequestOf<typeof listDeletions>,
): Promise<ReplyOf<typeof listDeletions>> {
  type Row = { refused: number | null; id: number | null; status: DeletionStatus; requested: string; finished: string };
  const rows = await database.read<Row>(list, [userId, after, perPage + 1]);
  unlessRefused(rows[0]);
  const found = rows.filter((row) => row.id !== null).slice(0, perPage);
  const deletions = found.map(({ id, status, requested, finished }) => ({
    deletion_id: id as number,
    status,
    requested,
    finished,
  }));
  return { deletions, more: rows.length > perPage };
}

/** Counts one more failed attempt. @returns how many there were, none if the deletion has ended. */
export async function addAttempt(database: Database, userId: string, deletionId: number): Promise<number | undefined> {
  const [record] = await database.change<{ attempts: number }>(countAttempt, [userId, deletionId]);
  return record?.attempts;
}

/** Locks the user's clock and then the record, so that nothing of the user's changes until the transaction ends. */
export async function claimDeletion(
  transaction: PgTransaction,
  userId: string,
  deletionId: number,
): Promise<Claimed | undefined> {
  await transaction.query(lockClock, [userId]);
  const [claimed] = await transaction.query<Claimed>(claim, [userId, deletionId]);
  return claimed;
}

/** Takes records that are due. It commits at once, so that nobody who makes or ends a record waits for a relay. */
export function takeDue(database: Database, limit: number, resendAfterMs: number): Promise<Taken[]> {
  return database.change<Taken>(take, [limit, resendAfterMs]);
}

/** Gives records whose last job is gone the number of a new one. @returns those that have not ended meanwhile. */
export async function takeAgainLost(database: Database, lost: readonly Taken[]): Promise<Taken[]> {
  if (lost.length === 0) return [];
  const columns = [lost.map((row) => row.userId), lost.map((row) => row.deletionId), lost.map((row) => row.send)];
  return database.change<Taken>(takeAgain, columns);
}
