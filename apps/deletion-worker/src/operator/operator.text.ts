import { alignedTable } from '#runtime';
import type { ListedDeletion } from './operator.repository.js';

const headings = ['ID', 'REQUESTED', 'SENT', 'JOBS', 'ATTEMPTS', 'USER', 'SUBSCRIPTION', 'CAUSE'];

/** Formats records as an aligned table, one per line. */
export function tableOf(records: readonly ListedDeletion[]): string {
  const rows = records.map(({ id, requested, sentAt, cause, ...record }) => {
    const { jobNumber, attempts, userId, subscriptionId } = record;
    // A cause can have several lines, but each record is one line of the table.
    const oneLine = (cause ?? '').replace(/\s+/g, ' ');
    const cells = [id, requested, sentAt ?? '-', jobNumber, attempts, userId, subscriptionId];
    return [...cells.map(String), oneLine];
  });
  return alignedTable([headings, ...rows]);
}
