import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { beginWithPartitions } from './partitions.js';

/**
 * Applies the migrations that are missing.
 *
 * @param partitions of each table with users' rows in a database without tables, 0 for plain tables; any other database
 *   goes on as it began.
 * @returns their names.
 */
export async function applyMigrations(runner: QueryRunner, partitions: number): Promise<string[]> {
  await beginWithPartitions(runner, partitions);
  const executor = new MigrationExecutor(runner.dataSource, runner);
  executor.transaction = 'each';
  return (await executor.executePendingMigrations()).map(({ name }) => name);
}

/** The statements that would make the schema the one that the entities describe; empty where it is. */
export async function drift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  // For a foreign key to a partitioned table Postgres adds one to each partition, which no entity describes. Keys on
  // partitions are not left out: they share the name of their table's key.
  const parts = await dataSource.query<{ name: string }[]>(
    `SELECT DISTINCT k.conname AS name FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
     WHERE k.contype = 'f' AND k.conparentid <> 0 AND NOT c.relispartition`,
  );
  const added = new Set(parts.map(({ name }) => name));
  return upQueries
    .map(({ query }) => query)
    .filter((query) => !added.has(/ DROP CONSTRAINT "([^"]+)"$/.exec(query)?.[1] ?? ''));
}
