import { Failure } from '#contracts';

/**
 * SQL of a table with exactly one row: the clock of the user, or the epoch before the first write.
 * `refused` is not null for a user who is disabled, being erased, or erased. $1 user.
 */
export const clockOfUser = `(
    SELECT coalesce(max(c.stamp), 'epoch') AS clock, max(c.refused) AS refused
    FROM sync.user_clock c WHERE c.user_id = $1
  )`;

/** Returns a row that has `refused`. @throws Failure `unauthorized` for a refused user. */
export function unlessRefused<Row extends { refused: number | null }>(row: Row | undefined): Row {
  if (row === undefined || row.refused !== null) throw new Failure('unauthorized');
  return row;
}
