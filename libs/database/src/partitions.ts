import type { QueryRunner } from 'typeorm';

/** The setting of a connection by which migrations learn the number of partitions. */
const setting = 'podcast_sync.partitions';

/**
 * Into how many partitions the tables with users' rows are split; 0 where they are not. That is decided for good when a
 * database is created, and read from its first table.
 *
 * @returns `undefined` for a database without tables.
 */
export async function partitionsOf(runner: QueryRunner): Promise<number | undefined> {
  const [found]: { partitions: number }[] = await runner.query(
    `SELECT (SELECT count(*)::int FROM pg_inherits WHERE inhparent = c.oid) AS partitions
     FROM pg_class c WHERE c.oid = to_regclass('sync.user_clock')`,
  );
  return found?.partitions;
}

/** Sets for the migrations on this connection how many partitions a database without tables begins with. */
export async function beginWithPartitions(runner: QueryRunner, partitions: number): Promise<void> {
  await runner.query('SELECT set_config($1, $2, false)', [setting, String(partitions)]);
}

/**
 * What follows the columns of a table with users' rows, `CREATE TABLE x (…) ${byUser('x')};`: nothing, or that it is
 * partitioned by user, and its partitions. Storage parameters are for what holds the rows.
 */
export type ByUser = (table: string, storage?: string) => string;

/** For migrations that create tables: partitions them as the other tables of the database are. */
export async function partitioning(runner: QueryRunner): Promise<ByUser> {
  const [configured]: { partitions: string | null }[] = await runner.query(
    'SELECT current_setting($1, true) AS partitions',
    [setting],
  );
  const partitions = (await partitionsOf(runner)) ?? Number(configured?.partitions ?? 0);
  return (table, storage) => {
    const parameters = storage ? ` WITH (${storage})` : '';
    if (partitions === 0) return parameters;
    const parts = Array.from(
      { length: partitions },
      (_, n) => `CREATE TABLE ${table}_${n} PARTITION OF ${table}
        FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${n})${parameters}`,
    );
    return ['PARTITION BY HASH (user_id)', ...parts].join(';\n');
  };
}
