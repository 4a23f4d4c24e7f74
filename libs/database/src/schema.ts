import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';

/** Applies the missing migrations. @returns their names. */
export async function applyMigrations(runner: QueryRunner): Promise<string[]> {
  const executor = new MigrationExecutor(runner.dataSource, runner);
  executor.transaction = 'each';
  return (await executor.executePendingMigrations()).map(({ name }) => name);
}

/** Returns the statements that would make the schema match the entities; empty if it matches. */
export async function drift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}
