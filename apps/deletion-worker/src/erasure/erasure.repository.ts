import type { DeletionStatus } from '#contracts';
import { type Database, type PgTransaction, type Statement, statement } from '#database';

/**
 * Deletes a user's rows of one table in steps, in key order. Each step starts at the last key of
 * the previous step.
 */
interface Phase {
  readonly statement: Statement;
  /** A lower bound of all keys, where the first step starts. */
  readonly lowestKey: string;
}

/** The result of a step of an erasure. */
interface StepResult {
  /** Number of deleted rows. */
  rows: number;
  /** The key at which the next step starts; null for the key of this step. */
  last: string | null;
}

const nilUuid = '00000000-0000-0000-0000-000000000000';
/** Lower bounds of keys by SQL type. */
const lowestKeys = { uuid: nilUuid, bigint: '0', bytea: '' } as const;

/**
 * Creates a phase. Its statement has the parameters $1 user, $2 lower bound of the keys, $3 maximum
 * number of rows. The cost of a step depends only on its rows: an index range from $2 finds them,
 * and `ctid` deletes them.
 */
function createPhase(
  table: string,
  key: string,
  type: keyof typeof lowestKeys,
  condition = 'true',
): Phase {
  const name = condition === 'true' ? table : `${table}.${key}`;
  const sql = `
    WITH page AS MATERIALIZED (
      SELECT t.ctid AS place, t.${key} AS key FROM ${table} t
      WHERE t.user_id = $1 AND t.${key} >= $2::${type} AND ${condition} ORDER BY t.${key} LIMIT $3
    ), deleted AS (
      DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(SELECT place FROM page))
    )
    SELECT count(*)::int AS rows,
      (SELECT p.key::text FROM page p ORDER BY p.key DESC LIMIT 1) AS last FROM page`;
  return { statement: statement(`deletion.erase.${name}`, sql), lowestKey: lowestKeys[type] };
}

/** Deletes the rows of the account app with a function of its schema. All steps have one key. */
const accountPhase: Phase = {
  statement: statement(
    'deletion.erase_account',
    'SELECT account.erase_user($1, $3) AS rows, $2::text AS last',
  ),
  lowestKey: nilUuid,
};

/**
 * The phases of an erasure in their order. Rows of the account app come first, because they include
 * the credentials. All tables with several rows per user follow, in the order of foreign keys.
 */
export const erasurePhases: readonly Phase[] = [
  accountPhase,
  createPhase('episode.states', 'id', 'bigint'),
  createPhase('episode.episodes', 'sync_id', 'uuid'),
  createPhase('episode.sync_ids', 'sync_id', 'uuid'),
  createPhase('subscription.guids', 'guid', 'uuid'),
  createPhase('subscription.feed_urls', 'url_sha256', 'bytea'),
  createPhase('subscription.former_guids', 'subscription_id', 'bigint'),
  createPhase('subscription.subscriptions', 'merged_into', 'bigint', 't.merged_into IS NOT NULL'),
  createPhase('subscription.subscriptions', 'id', 'bigint'),
  createPhase('deletion.deletions', 'id', 'bigint'),
  // A foreign key deletes the stored answer of each marker together with the marker.
  {
    statement: statement(
      'deletion.erase.sync.request',
      'SELECT rows, last FROM deletion.erase_requests($1, $2, $3)',
    ),
    lowestKey: nilUuid,
  },
  createPhase('sync.readers', 'credential_id', 'uuid'),
  createPhase('sync.reader_sessions', 'session_id', 'uuid'),
];

/** Deletes the row counts of user $1. Quotas use them. */
const eraseTotals = statement(
  'deletion.erase_totals',
  `WITH episodes AS (DELETE FROM episode.totals t WHERE t.user_id = $1)
   DELETE FROM subscription.totals t WHERE t.user_id = $1`,
);
/** Records an erasure. $1 user, $2 trace headers and correlation id of the request. */
const insertErasure = statement(
  'deletion.insert_erasure',
  'SELECT deletion.record_erasure($1, $2) AS status',
);
/** Locks a user's clock and the record of the erasure, and reads the record. $1 user. */
const claimErasure = statement(
  'deletion.claim_erasure',
  'SELECT status, age FROM deletion.claim_erasure($1)',
);
/** Adds to the number of deleted rows. $1 user, $2 rows. */
const addRemovedRows = statement(
  'deletion.add_removed_rows',
  'SELECT deletion.add_removed_rows($1, $2)',
);
/** Ends an erasure. $1 user, $2 final state, $3 cause of a FAILURE, $4 kinds of events as bits. */
const endErasureRecord = statement(
  'deletion.end_erasure_record',
  'SELECT deletion.end_erasure($1, $2, $3, $4) AS ended',
);
const selectErasure = statement(
  'deletion.select_erasure',
  'SELECT status, removed, cause FROM deletion.erasures e WHERE e.user_id = $1',
);
/** Reads users with a PENDING erasure, in the order of the index `erasures_due`. $1 limit. */
const selectPendingErasures = statement(
  'deletion.select_pending_erasures',
  `SELECT user_id AS "userId" FROM deletion.erasures e WHERE e.status = 'PENDING'
   ORDER BY coalesce(e.sent_at, '-infinity') LIMIT $1`,
);

/** Progress of an erasure. */
interface ErasureRecord {
  status: DeletionStatus;
  /** Number of deleted rows. */
  removed: number;
  /** The cause of a FAILURE, else null. */
  cause: string | null;
}

/**
 * Records an erasure and refuses the user from then on. The statement first waits for a running
 * write of the user.
 *
 * @param origin trace headers and correlation id of the request.
 * @param remainingMs returns the remaining time in milliseconds.
 * @returns PENDING; SUCCESS if the user was erased before.
 */
export function recordErasure(
  database: Database,
  userId: string,
  origin: Readonly<Record<string, string>>,
  remainingMs: () => number,
): Promise<DeletionStatus> {
  return database.inTransaction(remainingMs, async (transaction) => {
    const [row] = await transaction.query<{ status: DeletionStatus }>(insertErasure, [
      userId,
      JSON.stringify(origin),
    ]);
    await transaction.commit();
    return (row as { status: DeletionStatus }).status;
  });
}

/** Returns the record of a user's erasure; undefined if there is none. */
export async function readErasure(
  database: Database,
  userId: string,
): Promise<ErasureRecord | undefined> {
  const [record] = await database.read<ErasureRecord>(selectErasure, [userId]);
  return record;
}

/** Returns up to `limit` users whose erasure is PENDING. */
export async function readPendingErasures(database: Database, limit: number): Promise<string[]> {
  const rows = await database.read<{ userId: string }>(selectPendingErasures, [limit]);
  return rows.map(({ userId }) => userId);
}

/**
 * Locks the clock and the record of an erasure, and runs a step. The caller must commit.
 *
 * @returns the age of the erasure in seconds and the result of the step; undefined if the erasure
 *   is not PENDING.
 */
async function runClaimedStep(
  transaction: PgTransaction,
  userId: string,
  phase: Phase,
  fromKey: string,
  limit: number,
) {
  type Claim = { status: DeletionStatus; age: number };
  const [[found], rows] = await Promise.all([
    transaction.query<Claim>(claimErasure, [userId]),
    transaction.query<StepResult>(phase.statement, [userId, fromKey, limit]),
  ]);
  return found?.status === 'PENDING' ? { age: found.age, row: rows[0] as StepResult } : undefined;
}

/**
 * Deletes up to `limit` rows of a phase and commits.
 *
 * @param fromKey key at which the step starts.
 * @returns the result; undefined, without changes, if the erasure is not PENDING.
 */
export async function eraseStep(
  transaction: PgTransaction,
  userId: string,
  phase: Phase,
  fromKey: string,
  limit: number,
) {
  const step = await runClaimedStep(transaction, userId, phase, fromKey, limit);
  if (step) await transaction.commit([addRemovedRows, [userId, step.row.rows]]);
  return step?.row;
}

/**
 * Ends an erasure in SUCCESS after its last step.
 *
 * @returns the time since the request in seconds; undefined if the record was already final.
 */
export async function endErasure(
  transaction: PgTransaction,
  database: Pick<Database, 'eventBits'>,
  userId: string,
  limit: number,
): Promise<number | undefined> {
  // Account rows are deleted again, because a request that ran during the first phase can have
  // added some.
  const lastStep = await runClaimedStep(
    transaction,
    userId,
    accountPhase,
    accountPhase.lowestKey,
    limit,
  );
  const eventBits = database.eventBits(['erased']);
  if (lastStep)
    await transaction.commit(
      [eraseTotals, [userId]],
      [endErasureRecord, [userId, 'SUCCESS', null, eventBits]],
    );
  return lastStep?.age;
}

/**
 * Ends an erasure in FAILURE in its own transaction. The user stays refused.
 *
 * @returns true if the erasure was PENDING; otherwise it is unchanged.
 */
export async function failErasure(
  database: Database,
  userId: string,
  cause: string,
): Promise<boolean> {
  const [row] = await database.change<{ ended: boolean }>(endErasureRecord, [
    userId,
    'FAILURE',
    cause,
    0,
  ]);
  return row?.ended ?? false;
}
