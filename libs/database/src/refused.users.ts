import { Failure } from '#contracts';

/**
 * What every read of a user's reads beside, from the same snapshot: the row of the user's clock as a table of always one
 * row, in which `refused` is null for those for whom something is done. $1 is the user.
 */
export const clockOfUser = `(
    SELECT coalesce(max(c.stamp), 'epoch') AS clock, max(c.refused) AS refused
    FROM sync.user_clock c WHERE c.user_id = $1
  )`;

/** @throws Failure `unauthorized` where a row that was read with {@link clockOfUser} says that the user is refused. */
export function unlessRefused<Row extends { refused: number | null }>(row: Row | undefined): Row {
  if (row === undefined || row.refused !== null) throw new Failure('unauthorized');
  return row;
}
