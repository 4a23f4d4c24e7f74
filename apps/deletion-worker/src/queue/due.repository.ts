import { type Database, statement } from '#database';

/** A deletion or erasure that a relay has claimed. Other relays skip it until it is due again. */
export interface ClaimedRecord {
  userId: string;
  /** Null for an erasure. A user has at most one erasure, so `userId` identifies it. */
  deletionId: number | null;
  /** The number of the record's last job. */
  jobNumber: number;
  /** True if `jobNumber` was assigned now. The queue then has no job with that number. */
  isNew: boolean;
  /** Trace headers and correlation id of the request. */
  origin: Record<string, string> | null;
}

const selectColumns = (id: 'id' | 'NULL') =>
  `user_id AS "userId", ${id} AS "deletionId", job_number AS "jobNumber", is_new AS "isNew",
   origin`;

/**
 * Claims PENDING records that are due: without `sent_at`, or with one older than $2 milliseconds.
 * $1 maximum number. A record without `sent_at` is new or was made due by an operator, and gets a
 * new job number. Locked rows are skipped.
 */
const claimStatements = [
  statement('deletion.claim_due', `SELECT ${selectColumns('id')} FROM deletion.claim_due($1, $2)`),
  statement(
    'deletion.claim_due_erasures',
    `SELECT ${selectColumns('NULL')} FROM deletion.claim_due_erasures($1, $2)`,
  ),
];

/**
 * Assigns the next job number to deletions. Skips locked records, because their job is running. $1
 * users, $2 deletions, $3 current job numbers.
 */
const renumberJobs = statement(
  'deletion.renumber_lost_jobs',
  `SELECT ${selectColumns('id')} FROM deletion.renumber_lost_jobs($1, $2, $3)`,
);
const renumberErasureJobs = statement(
  'deletion.renumber_lost_erasure_jobs',
  `SELECT ${selectColumns('NULL')} FROM deletion.renumber_lost_erasure_jobs($1, $2)`,
);

/**
 * Claims due deletions and due erasures, each up to the limit, and returns both lists. Each of the
 * two claims commits immediately, so no lock is held while the relay calls Redis.
 */
export function claimDue(
  database: Database,
  limit: number,
  resendAfterMs: number,
): Promise<ClaimedRecord[][]> {
  const claims = claimStatements.map((query) =>
    database.change<ClaimedRecord>(query, [limit, resendAfterMs]),
  );
  return Promise.all(claims);
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
  const listUserIds = (rows: readonly ClaimedRecord[]) => rows.map((row) => row.userId);
  const listJobNumbers = (rows: readonly ClaimedRecord[]) => rows.map((row) => row.jobNumber);
  const deletions = lost.filter(({ deletionId }) => deletionId !== null);
  const erasures = lost.filter(({ deletionId }) => deletionId === null);
  const deletionIds = deletions.map((row) => row.deletionId);
  const deletionValues = [listUserIds(deletions), deletionIds, listJobNumbers(deletions)];
  const erasureValues = [listUserIds(erasures), listJobNumbers(erasures)];
  return [
    ...(deletionIds.length > 0
      ? await database.change<ClaimedRecord>(renumberJobs, deletionValues)
      : []),
    ...(erasures.length > 0
      ? await database.change<ClaimedRecord>(renumberErasureJobs, erasureValues)
      : []),
  ];
}
