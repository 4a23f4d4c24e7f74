import type pg from 'pg';

/**
 * Returns the number of statements that wait for a lock of a connection.
 *
 * @param watcher connection outside of a transaction, in which Postgres would repeat the first
 *   result.
 * @param pid process id of the connection in Postgres.
 */
export async function countBlockedBy(watcher: pg.Client, pid: number): Promise<number> {
  const { rowCount } = await watcher.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND $1::integer = ANY (pg_blocking_pids(pid))`,
    [pid],
  );
  return rowCount ?? 0;
}
