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

/** What would make the schema the one that the entities describe; nothing where it is. */
export async function drift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  // A foreign key to a partitioned table also is one to each partition, which Postgres made and nobody describes.
  const parts = await dataSource.query<{ name: string }[]>(
    "SELECT DISTINCT conname AS name FROM pg_constraint WHERE contype = 'f' AND conparentid <> 0",
  );
  const theirs = new Set(parts.map(({ name }) => name));
  return upQueries
    .map(({ query }) => query)
    .filter((query) => !theirs.has(/ DROP CONSTRAINT "([^"]+)"$/.exec(query)?.[1] ?? ''));
}
