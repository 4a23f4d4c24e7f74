import { type ChangeEvent, namesOf } from '#contracts';
import { type Database, type PgTransaction, statement } from '#database';

/** Events that were taken out of the outbox together, one for each of their users. */
export interface Batch {
  /** Later batches have higher ones. */
  readonly number: number;
  readonly events: readonly ChangeEvent[];
}

/** $1 how many rows at most, $2 what the batch's number has to be above. */
const take = statement(
  'sync.take_events',
  'SELECT batch, user_id AS "user", stamp, kinds FROM sync.take_events($1, $2)',
);

/** Of the first that are found, however many there are: those that wait longest are mostly among them. */
const lag = statement(
  'sync.events_lag',
  `SELECT coalesce(greatest(extract(epoch FROM clock_timestamp() - min(e.created_at)), 0), 0)::float8 AS lag
   FROM (SELECT created_at FROM sync.events LIMIT 10000) e`,
);

/**
 * Takes rows out of the outbox. They are back when the transaction does not commit.
 *
 * @returns none where there is nothing, or another relay has taken some and not committed yet.
 */
export async function takeBatch(transaction: PgTransaction, limit: number, above: number): Promise<Batch | undefined> {
  type Row = { batch: number; user: string; stamp: string; kinds: number };
  const rows = await transaction.query<Row>(take, [limit, above]);
  const [first] = rows;
  if (!first) return undefined;
  const events = rows.map(({ user, stamp, kinds }) => ({ user, kinds: namesOf(kinds), stamp }));
  return { number: first.batch, events };
}

/** For how long the oldest row has been in the outbox, in seconds; 0 where there is none. */
export async function readLag(database: Database): Promise<number | undefined> {
  const [found] = await database.read<{ lag: number }>(lag, []);
  return found?.lag;
}
