import type { DeletionStatus } from '#contracts';
import { type Database, statement } from '#database';
import type { Ending } from '../records/deletion.rule.js';
import { endAlone } from '../records/deletion.store.js';

/** A record as operators see it. */
export interface ListedDeletion {
  id: number;
  status: DeletionStatus;
  requested: string;
  finished: string | null;
  /** How many jobs were made for it, and when a relay last took it. */
  send: number;
  sentAt: string | null;
  attempts: number;
  userId: string;
  subscriptionId: number;
  cause: string | null;
}

const columns = `d.id, d.status, d.requested, d.finished, d.send, d.sent_at AS "sentAt", d.attempts,
  d.user_id AS "userId", d.subscription_id AS "subscriptionId", d.cause`;

const listPending = statement(
  'deletion.list_pending',
  `SELECT ${columns} FROM deletion.deletions d WHERE d.status = 'PENDING' ORDER BY d.requested, d.id LIMIT $1`,
);

const listFailed = statement(
  'deletion.list_failed',
  `SELECT ${columns} FROM deletion.deletions d WHERE d.status = 'FAILURE' ORDER BY d.finished DESC, d.id DESC LIMIT $1`,
);

const retry = statement('deletion.retry', 'SELECT id FROM deletion.make_due($1)');

/** By an index of PENDING records alone: quick, however many have ended. */
const findPending = statement(
  'deletion.find_pending',
  `SELECT ${columns} FROM deletion.deletions d WHERE d.id = $1 AND d.status = 'PENDING'`,
);

const find = statement('deletion.find_by_id', `SELECT ${columns} FROM deletion.deletions d WHERE d.id = $1`);

/** Records that wait, longest first, or that failed, latest first. */
export function listDeletions(
  database: Database,
  status: 'PENDING' | 'FAILURE',
  limit: number,
): Promise<ListedDeletion[]> {
  return database.read<ListedDeletion>(status === 'PENDING' ? listPending : listFailed, [limit]);
}

/** Makes a PENDING record due: the next relay that polls sends it as a new job. @returns whether there was one. */
export async function makeDue(database: Database, deletionId: number): Promise<boolean> {
  return (await database.change(retry, [deletionId])).length > 0;
}

/** Ends a PENDING record as an operator wants it. @returns whether there was one. */
export async function endByOperator(database: Database, deletionId: number, ending: Ending): Promise<boolean> {
  const [found] = await database.read<ListedDeletion>(findPending, [deletionId]);
  return found !== undefined && (await endAlone(database, found.userId, found.id, ending)) !== undefined;
}

/** Reads all records of all users, as no index begins with the id: only to tell a person why nothing was done. */
export async function findDeletion(database: Database, deletionId: number): Promise<ListedDeletion | undefined> {
  const [found] = await database.read<ListedDeletion>(find, [deletionId]);
  return found;
}
