import { alignedTable } from '#runtime';
import type { ListedDeletion } from './operator.repository.js';

const headings = [
  'ID',
  'REQUESTED',
  'SENT',
  'JOBS',
  'ATTEMPTS',
  'USER',
  'SUBSCRIPTION',
  'CAUSE',
] as const;

/** Formats records as an aligned table, one per line. */
export function tableOf(records: readonly ListedDeletion[]): string {
  return alignedTable([headings, ...records.map(cells)]);
}

function cells({
  id,
  requested,
  sentAt,
  jobNumber,
  attempts,
  userId,
  subscriptionId,
  cause,
}: ListedDeletion): string[] {
  const numbers = [jobNumber, attempts].map(String);
  // A cause can have several lines, but each record is one line of the table.
  const oneLine = (cause ?? '').replace(/\s+/g, ' ');
  return [
    String(id),
    requested,
    sentAt ?? '-',
    ...numbers,
    userId,
    String(subscriptionId),
    oneLine,
  ];
}
