import type { DeletionStatus } from '#contracts';
import { type Database, type PgTransaction, type Statement, statement } from '#database';
import type { Taken } from '../records/deletion.store.js';

/** What is removed of one table, in the order of a key: a step goes on where the one before it ended. */
interface Phase {
  readonly statement: Statement;
  /** Not above any key. */
  readonly first: string;
}

/** What one step removed. */
interface Removed {
  rows: number;
  /** The key of the last row. */
  last: string | null;
}

const nil = '00000000-0000-0000-0000-000000000000';
const keys = { uuid: nil, bigint: '0', bytea: '' } as const;

/**
 * $1 user, $2 the key to begin at, $3 rows at most. It costs by what it removes: rows are found by one range of an index
 * that begins behind all that is gone already, and removed by their places.
 */
function phase(table: string, key: string, type: keyof typeof keys, condition = 'true'): Phase {
  const name = condition === 'true' ? table : `${table}.${key}`;
  const text = `
    WITH page AS MATERIALIZED (
      SELECT t.ctid AS place, t.${key} AS key FROM ${table} t
      WHERE t.user_id = $1 AND t.${key} >= $2::${type} AND ${condition} ORDER BY t.${key} LIMIT $3
    ), gone AS (
      DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(SELECT place FROM page))
    )
    SELECT count(*)::int AS rows, (SELECT p.key::text FROM page p ORDER BY p.key DESC LIMIT 1) AS last FROM page`;
  return { statement: statement(`deletion.erase.${name}`, text), first: keys[type] };
}

/** All tables with rows of a user but those that have one row, in the order in which foreign keys let go of them. */
export const phases: readonly Phase[] = [
  phase('episode.states', 'id', 'bigint'),
  phase('episode.episodes', 'sync_id', 'uuid'),
  phase('episode.sync_ids', 'sync_id', 'uuid'),
  phase('subscription.guids', 'guid', 'uuid'),
  phase('subscription.feed_urls', 'url_sha256', 'bytea'),
  phase('subscription.former_guids', 'subscription_id', 'bigint'),
  phase('subscription.subscriptions', 'merged_into', 'bigint', 't.merged_into IS NOT NULL'),
  phase('subscription.subscriptions', 'id', 'bigint'),
  phase('deletion.deletions', 'id', 'bigint'),
  phase('sync.request', 'request_id', 'uuid'),
  phase('sync.answer', 'request_id', 'uuid'),
  phase('sync.readers', 'credential_id', 'uuid'),
  phase('sync.reader_sessions', 'session_id', 'uuid'),
];

/** $1 user, $2 rows at most: what the account app keeps. */
const eraseAccount = statement('deletion.erase_account', 'SELECT account.erase_user($1, $2) AS rows');
/** $1 user: how many there were of everything. */
const eraseTotals = statement(
  'deletion.erase_totals',
  `WITH episodes AS (DELETE FROM episode.totals t WHERE t.user_id = $1)
   DELETE FROM subscription.totals t WHERE t.user_id = $1`,
);
/** $1 user, $2 where the request comes from. */
const record = statement('deletion.record_erasure', 'SELECT deletion.record_erasure($1, $2) AS status');
/** $1 user. */
const claim = statement('deletion.claim_erasure', 'SELECT status, age FROM deletion.claim_erasure($1)');
const count = statement('deletion.count_erased', 'SELECT deletion.count_erased($1, $2)');
/** $1 user, $2 final state, $3 cause, $4 what it leaves in the outbox of events. */
const end = statement('deletion.end_erasure', 'SELECT deletion.end_erasure($1, $2, $3, $4) AS ended');
const read = statement(
  'deletion.read_erasure',
  'SELECT status, removed, cause FROM deletion.erasures e WHERE e.user_id = $1',
);

const taken = 'user_id AS "userId", NULL AS "deletionId", send, fresh, origin';
const take = statement('deletion.take_erasures', `SELECT ${taken} FROM deletion.take_erasures($1, $2)`);
const takeAgain = statement(
  'deletion.take_erasures_again',
  `SELECT ${taken} FROM deletion.take_erasures_again($1, $2)`,
);

/** How long after a record was taken it is due again, and how far it is. */
interface ErasureRecord {
  status: DeletionStatus;
  /** Rows that are gone so far. */
  removed: number;
  cause: string | null;
}

/**
 * Records that a user is to be erased, and refuses the user. It waits for a write of the user that runs.
 *
 * @param remainingMs how long it may.
 * @returns the state of the record: what has ended in SUCCESS stays so.
 */
export function recordErasure(
  database: Database,
  userId: string,
  origin: Readonly<Record<string, string>>,
  remainingMs: () => number,
): Promise<DeletionStatus> {
  return database.inTransaction(remainingMs, async (transaction) => {
    const [made] = await transaction.query<{ status: DeletionStatus }>(record, [userId, JSON.stringify(origin)]);
    await transaction.commit();
    return (made as { status: DeletionStatus }).status;
  });
}

/** @returns what of an erasure is known, none if none was recorded. */
export async function readErasure(database: Database, userId: string): Promise<ErasureRecord | undefined> {
  const [found] = await database.read<ErasureRecord>(read, [userId]);
  return found;
}

/** Locks the user's clock and the record, and runs a statement under them. @returns nothing where it is not PENDING. */
async function claimed<Row extends object>(
  transaction: PgTransaction,
  userId: string,
  query: Statement,
  values: unknown[],
) {
  type Claim = { status: DeletionStatus; age: number };
  const [[found], rows] = await Promise.all([
    transaction.query<Claim>(claim, [userId]),
    transaction.query<Row>(query, values),
  ]);
  return found?.status === 'PENDING' ? { age: found.age, row: rows[0] as Row } : undefined;
}

/** Removes up to `limit` rows of a phase, and commits it. @returns nothing where the record has ended. */
export async function eraseStep(transaction: PgTransaction, userId: string, of: Phase, from: string, limit: number) {
  const step = await claimed<Removed>(transaction, userId, of.statement, [userId, from, limit]);
  if (step) await transaction.commit([count, [userId, step.row.rows]]);
  return step?.row;
}

/** Removes up to `limit` rows of what the account app keeps, and commits it. @returns like {@link eraseStep}. */
export async function eraseAccountStep(
  transaction: PgTransaction,
  userId: string,
  limit: number,
): Promise<number | undefined> {
  const step = await claimed<{ rows: number }>(transaction, userId, eraseAccount, [userId, limit]);
  if (step) await transaction.commit([count, [userId, step.row.rows]]);
  return step?.row.rows;
}

/** Ends an erasure whose steps are done. @returns its age in seconds; nothing where it had ended. */
export async function endErasure(
  transaction: PgTransaction,
  database: Pick<Database, 'announced'>,
  userId: string,
  limit: number,
): Promise<number | undefined> {
  // Once more: the account app may have been in the midst of something when its rows were removed.
  const last = await claimed(transaction, userId, eraseAccount, [userId, limit]);
  const kinds = database.announced(['erased']);
  if (last) await transaction.commit([eraseTotals, [userId]], [end, [userId, 'SUCCESS', null, kinds]]);
  return last?.age;
}

/** Ends an erasure in FAILURE, in a transaction of its own. The user stays refused. @returns whether it was PENDING. */
export async function failErasure(database: Database, userId: string, cause: string): Promise<boolean> {
  const [ended] = await database.change<{ ended: boolean }>(end, [userId, 'FAILURE', cause, 0]);
  return ended?.ended ?? false;
}

/** As `takeDue` of deletions. */
export function takeDueErasures(database: Database, limit: number, resendAfterMs: number): Promise<Taken[]> {
  return database.change<Taken>(take, [limit, resendAfterMs]);
}

/** As `takeAgainLost` of deletions. */
export async function takeErasuresAgain(database: Database, lost: readonly Taken[]): Promise<Taken[]> {
  if (lost.length === 0) return [];
  return database.change<Taken>(takeAgain, [lost.map((row) => row.userId), lost.map((row) => row.send)]);
}
