import { type Database, statement } from '#database';

/** A deletion or erasure that a relay has claimed. Other relays skip it until it is due again. */
export interface ClaimedRecord {
  userId: string;
  /** Null for an erasure: a user has at most one. */
  deletionId: number | null;
  /** The number of the record's last job. */
  jobNumber: number;
  /** True if `jobNumber` is new: the relay adds a job without looking for an earlier one. */
  isNew: boolean;
  /** Trace headers and correlation id of the request. */
  origin: Record<string, string> | null;
}

const columns = (id: 'id' | 'NULL') =>
  `user_id AS "userId", ${id} AS "deletionId", job_number AS "jobNumber", is_new AS "isNew",
   origin`;

/**
 * Claims PENDING records that are due: without `sent_at`, or with one older than $2 milliseconds.
 * $1 maximum number. A record without `sent_at` is new or was made due by an operator, and gets a
 * new job number. Locked rows are skipped.
 */
const claimStatements = [
  statement('deletion.claim_due', `SELECT ${columns('id')} FROM deletion.claim_due($1, $2)`),
  statement(
    'deletion.claim_due_erasures',
    `SELECT ${columns('NULL')} FROM deletion.claim_due_erasures($1, $2)`,
  ),
];

/** Assigns the next job number to records. Skips locked records, because their job is running. */
const renumberJobs = statement(
  'deletion.renumber_lost_jobs',
  `SELECT ${columns('id')} FROM deletion.renumber_lost_jobs($1, $2, $3)`,
);
const renumberErasureJobs = statement(
  'deletion.renumber_lost_erasure_jobs',
  `SELECT ${columns('NULL')} FROM deletion.renumber_lost_erasure_jobs($1, $2)`,
);

/**
 * Claims due deletions and due erasures, each up to the limit, and returns both lists. Each claim
 * commits on its own, so no lock is held while the relay calls Redis.
 */
export function claimDue(
  database: Database,
  limit: number,
  resendAfterMs: number,
): Promise<ClaimedRecord[][]> {
  const claimed = claimStatements.map((query) =>
    database.change<ClaimedRecord>(query, [limit, resendAfterMs]),
  );
  return Promise.all(claimed);
}

/**
 * Assigns the next job number to records whose job is missing from the queue. Skips records that
 * are locked or no longer PENDING.
 *
 * @returns the records with their new numbers.
 */
export async function renumberLostJobs(
  database: Database,
  lost: readonly ClaimedRecord[],
): Promise<ClaimedRecord[]> {
  const users = (rows: readonly ClaimedRecord[]) => rows.map((row) => row.userId);
  const jobNumbers = (rows: readonly ClaimedRecord[]) => rows.map((row) => row.jobNumber);
  const deletions = lost.filter(({ deletionId }) => deletionId !== null);
  const erasures = lost.filter(({ deletionId }) => deletionId === null);
  const ids = deletions.map((row) => row.deletionId);
  const deletionValues = [users(deletions), ids, jobNumbers(deletions)];
  const erasureValues = [users(erasures), jobNumbers(erasures)];
  return [
    ...(ids.length > 0 ? await database.change<ClaimedRecord>(renumberJobs, deletionValues) : []),
    ...(erasures.length > 0
      ? await database.change<ClaimedRecord>(renumberErasureJobs, erasureValues)
      : []),
  ];
}
