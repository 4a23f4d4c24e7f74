import { type ChangeEvent, kindNames } from '#contracts';
import { type Database, type PgTransaction, statement } from '#database';

/** Events of one transaction of a relay, one per user. */
export interface EventBatch {
  /** Increases with each batch. */
  readonly number: number;
  readonly events: readonly ChangeEvent[];
}

/** $1 limit of rows, $2 lower bound of the batch number. */
const takeEvents = statement(
  'sync.take_events',
  'SELECT batch, user_id AS "user", stamp, kinds FROM sync.take_events($1, $2)',
);

/** Lag of the first rows found, which usually include the oldest ones. */
const selectLag = statement(
  'sync.select_lag',
  `SELECT coalesce(
     greatest(extract(epoch FROM clock_timestamp() - min(e.created_at)), 0), 0
   )::float8 AS lag
   FROM (SELECT created_at FROM sync.events LIMIT 10000) e`,
);

/**
 * Deletes rows of the outbox. A rollback restores them.
 *
 * @returns undefined for an empty outbox, or while another relay has a batch.
 */
export async function takeBatch(
  transaction: PgTransaction,
  limit: number,
  above: number,
): Promise<EventBatch | undefined> {
  type Row = { batch: number; user: string; stamp: string; kinds: number };
  const rows = await transaction.query<Row>(takeEvents, [limit, above]);
  const [first] = rows;
  if (!first) return undefined;
  const events = rows.map(({ user, stamp, kinds }) => ({ user, kinds: kindNames(kinds), stamp }));
  return { number: first.batch, events };
}

/** Reads the age of the oldest row of the outbox in seconds; 0 for an empty outbox. */
export async function readLag(database: Database): Promise<number | undefined> {
  const [found] = await database.read<{ lag: number }>(selectLag, []);
  return found?.lag;
}
