import type pg from 'pg';

/**
 * How many statements wait for a lock that the connection with this process id of Postgres holds.
 *
 * @param watcher in no transaction: within one, Postgres says the same each time.
 */
export async function countBlockedBy(watcher: pg.Client, pid: number): Promise<number> {
  const { rowCount } = await watcher.query(
    'SELECT FROM pg_stat_activity WHERE datname = current_database() AND $1::integer = ANY (pg_blocking_pids(pid))',
    [pid],
  );
  return rowCount ?? 0;
}
