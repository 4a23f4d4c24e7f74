import { type Database, statement } from '#database';

/** A record that a relay has claimed. No other relay claims it until it is due again. */
export interface DueRecord {
  userId: string;
  /** Null for an erasure: a user has at most one. */
  deletionId: number | null;
  /** The number of its last job. */
  jobNumber: number;
  /** True for a new number: the relay then adds a job, regardless of earlier ones. */
  isNew: boolean;
  /** Trace headers and correlation id of the DELETE. */
  origin: Record<string, string> | null;
}

const columns = (id: 'id' | 'NULL') =>
  `user_id AS "userId", ${id} AS "deletionId", job_number AS "jobNumber", is_new AS "isNew",
   origin`;

/**
 * Claims PENDING records that are due. $1 limit, $2 age of `sent_at` in milliseconds. A record
 * without `sent_at` is new, or an operator retries it: it gets the number of a new job. The
 * functions skip rows that another relay locks.
 */
const claims = [
  statement('deletion.claim_due', `SELECT ${columns('id')} FROM deletion.claim_due($1, $2)`),
  statement(
    'deletion.claim_due_erasures',
    `SELECT ${columns('NULL')} FROM deletion.claim_due_erasures($1, $2)`,
  ),
];

/** A locked record has a running job, so the functions skip it. */
const renumberJobs = statement(
  'deletion.renumber_lost_jobs',
  `SELECT ${columns('id')} FROM deletion.renumber_lost_jobs($1, $2, $3)`,
);
const renumberErasureJobs = statement(
  'deletion.renumber_lost_erasure_jobs',
  `SELECT ${columns('NULL')} FROM deletion.renumber_lost_erasure_jobs($1, $2)`,
);

/**
 * Claims due deletions and due erasures, each up to the limit. It commits immediately, so requests
 * and cascades never wait for a relay.
 */
export function claimDue(
  database: Database,
  limit: number,
  resendAfterMs: number,
): Promise<DueRecord[][]> {
  const claimed = claims.map((claim) => database.change<DueRecord>(claim, [limit, resendAfterMs]));
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
  lost: readonly DueRecord[],
): Promise<DueRecord[]> {
  const users = (rows: readonly DueRecord[]) => rows.map((row) => row.userId);
  const jobNumbers = (rows: readonly DueRecord[]) => rows.map((row) => row.jobNumber);
  const deletions = lost.filter(({ deletionId }) => deletionId !== null);
  const erasures = lost.filter(({ deletionId }) => deletionId === null);
  const ids = deletions.map((row) => row.deletionId);
  const deletionValues = [users(deletions), ids, jobNumbers(deletions)];
  const erasureValues = [users(erasures), jobNumbers(erasures)];
  return [
    ...(ids.length > 0 ? await database.change<DueRecord>(renumberJobs, deletionValues) : []),
    ...(erasures.length > 0
      ? await database.change<DueRecord>(renumberErasureJobs, erasureValues)
      : []),
  ];
}
