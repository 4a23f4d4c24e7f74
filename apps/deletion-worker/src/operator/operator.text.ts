import type { ListedDeletion } from './operator.store.js';

const headings = ['ID', 'REQUESTED', 'SENT', 'JOBS', 'ATTEMPTS', 'USER', 'SUBSCRIPTION', 'CAUSE'] as const;

/** Records as an aligned table, one a line. */
export function tableOf(records: readonly ListedDeletion[]): string {
  const rows: (readonly string[])[] = [headings, ...records.map(cells)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function cells({ id, requested, sentAt, send, attempts, userId, subscriptionId, cause }: ListedDeletion): string[] {
  const numbers = [send, attempts].map(String);
  // The message of a fault may have several lines; a record has one.
  const why = (cause ?? '').replace(/\s+/g, ' ');
  return [String(id), requested, sentAt ?? '-', ...numbers, userId, String(subscriptionId), why];
}
