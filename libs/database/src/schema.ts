import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';

/** Applies the migrations that are missing. @returns their names. */
export async function applyMigrations(runner: QueryRunner): Promise<string[]> {
  const executor = new MigrationExecutor(runner.dataSource, runner);
  executor.transaction = 'each';
  return (await executor.executePendingMigrations()).map(({ name }) => name);
}

/** The statements that would make the schema the one that the entities describe; empty where it is. */
export async function drift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}
