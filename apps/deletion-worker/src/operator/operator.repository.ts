import type { DeletionStatus } from '#contracts';
import { type Database, statement } from '#database';
import type { DeletionOutcome } from '../records/deletion.rules.js';
import { endDeletion } from '../records/deletion.repository.js';

/** A deletion record as operators see it. */
export interface ListedDeletion {
  id: number;
  status: DeletionStatus;
  requested: string;
  /** Time of the end; null while the record is PENDING. */
  finished: string | null;
  /** Number of the record's last job. */
  jobNumber: number;
  /** Time of the last claim by a relay; null before the first claim and after `makeDue`. */
  sentAt: string | null;
  /** Number of attempts with transient faults. */
  attempts: number;
  userId: string;
  subscriptionId: number;
  cause: string | null;
}

const listedColumns = `d.id, d.status, d.requested, d.finished, d.job_number AS "jobNumber",
  d.sent_at AS "sentAt", d.attempts, d.user_id AS "userId",
  d.subscription_id AS "subscriptionId", d.cause`;

const selectOldestPending = statement(
  'deletion.select_oldest_pending',
  `SELECT ${listedColumns} FROM deletion.deletions d WHERE d.status = 'PENDING'
   ORDER BY d.requested, d.id LIMIT $1`,
);

const selectLatestFailed = statement(
  'deletion.select_latest_failed',
  `SELECT ${listedColumns} FROM deletion.deletions d WHERE d.status = 'FAILURE'
   ORDER BY d.finished DESC, d.id DESC LIMIT $1`,
);

const makeRecordDue = statement('deletion.make_record_due', 'SELECT id FROM deletion.make_due($1)');

/** Reads a PENDING record by id, with the index of PENDING records. $1 deletion. */
const findPendingRecord = statement(
  'deletion.find_pending_record',
  `SELECT ${listedColumns} FROM deletion.deletions d WHERE d.id = $1 AND d.status = 'PENDING'`,
);

const findRecord = statement(
  'deletion.find_record',
  `SELECT ${listedColumns} FROM deletion.deletions d WHERE d.id = $1`,
);

/** Lists pending records, oldest first, or failed ones, latest first. */
export function listDeletions(
  database: Database,
  status: 'PENDING' | 'FAILURE',
  limit: number,
): Promise<ListedDeletion[]> {
  return database.read<ListedDeletion>(
    status === 'PENDING' ? selectOldestPending : selectLatestFailed,
    [limit],
  );
}

/**
 * Makes a PENDING record due, so that a relay adds a new job.
 *
 * @returns false if the record does not exist or is final.
 */
export async function makeDue(database: Database, deletionId: number): Promise<boolean> {
  return (await database.change(makeRecordDue, [deletionId])).length > 0;
}

/** Ends a PENDING record. @returns false if the record does not exist or is final. */
export async function endByOperator(
  database: Database,
  deletionId: number,
  outcome: DeletionOutcome,
): Promise<boolean> {
  const [record] = await database.read<ListedDeletion>(findPendingRecord, [deletionId]);
  return (
    record !== undefined &&
    (await endDeletion(database, record.userId, record.id, outcome)) !== undefined
  );
}

/** Reads a record by id with a scan of all records, for an error message; undefined if absent. */
export async function findDeletion(
  database: Database,
  deletionId: number,
): Promise<ListedDeletion | undefined> {
  const [record] = await database.read<ListedDeletion>(findRecord, [deletionId]);
  return record;
}
