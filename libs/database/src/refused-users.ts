import { Failure } from '#contracts';

/**
 * SQL of a table with exactly one row for user $1. `clock` is the user's clock, or the epoch before
 * the first write. `refused` is null unless the user is disabled, being erased, or erased.
 */
export const clockOfUser = `(
    SELECT coalesce(max(c.stamp), 'epoch') AS clock, max(c.refused) AS refused
    FROM sync.user_clock c WHERE c.user_id = $1
  )`;

/**
 * Returns the row that was read.
 *
 * @throws Failure `unauthorized` without a row, or if `refused` is not null.
 */
export function unlessRefused<Row extends { refused: number | null }>(row: Row | undefined): Row {
  if (row === undefined || row.refused !== null) throw new Failure('unauthorized');
  return row;
}
