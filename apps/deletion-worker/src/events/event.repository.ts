import { type ChangeEvent, kindNames } from '#contracts';
import { type Database, type PgTransaction, statement } from '#database';

/** The events that a relay publishes in one transaction, one per user. */
export interface EventBatch {
  /** The batch number, which increases with each batch. */
  readonly number: number;
  readonly events: readonly ChangeEvent[];
}

/**
 * Deletes all outbox rows of some users and reads their events. $1 maximum number of outbox rows
 * from which the users are selected, $2 number that the batch number must exceed.
 */
const takeEvents = statement(
  'sync.take_events',
  'SELECT batch, user_id AS "user", stamp, kinds FROM sync.take_events($1, $2)',
);

/**
 * Reads the age in seconds of the oldest of 10,000 rows of the outbox, which usually include the
 * oldest row of all.
 */
const selectLag = statement(
  'sync.select_lag',
  `SELECT coalesce(
     greatest(extract(epoch FROM clock_timestamp() - min(e.created_at)), 0), 0
   )::float8 AS lag
   FROM (SELECT created_at FROM sync.events LIMIT 10000) e`,
);

/**
 * Deletes rows of the outbox and returns their events. A rollback restores the rows.
 *
 * @param limit maximum number of outbox rows from which users are selected. All rows of these users
 *   are deleted, so more rows can be returned.
 * @param lastNumber number that the batch number must exceed. After a restore of Postgres, it can
 *   be ahead of the sequence of batch numbers.
 * @returns undefined for an empty outbox, or while another relay publishes a batch.
 */
export async function takeBatch(
  transaction: PgTransaction,
  limit: number,
  lastNumber: number,
): Promise<EventBatch | undefined> {
  type Row = { batch: number; user: string; stamp: string; kinds: number };
  const rows = await transaction.query<Row>(takeEvents, [limit, lastNumber]);
  const [first] = rows;
  if (!first) return undefined;
  const events = rows.map(({ user, stamp, kinds }) => ({ user, kinds: kindNames(kinds), stamp }));
  return { number: first.batch, events };
}

/** Reads the age of the outbox's oldest row in seconds ({@link selectLag}); 0 without rows. */
export async function readLag(database: Database): Promise<number | undefined> {
  const [row] = await database.read<{ lag: number }>(selectLag, []);
  return row?.lag;
}
