import { Failure } from '#contracts';

/**
 * SQL for the user's clock as a table of exactly one row, for reads from the same snapshot.
 * `refused` is not null for a disabled or erased user. $1 user.
 */
export const clockOfUser = `(
    SELECT coalesce(max(c.stamp), 'epoch') AS clock, max(c.refused) AS refused
    FROM sync.user_clock c WHERE c.user_id = $1
  )`;

/** Returns a row of {@link clockOfUser}. @throws Failure `unauthorized` for a refused user. */
export function unlessRefused<Row extends { refused: number | null }>(row: Row | undefined): Row {
  if (row === undefined || row.refused !== null) throw new Failure('unauthorized');
  return row;
}
