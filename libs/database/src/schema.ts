import {
  type DataSource,
  MigrationExecutor,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm';
import type { Distribution } from './database.config.js';
import {
  distributeTablesOfUsers,
  isDistributed,
  publishOnAllNodes,
  requireCitus,
} from './distribution.js';

/**
 * Applies the missing migrations. On a Citus cluster it also distributes the rows of users.
 *
 * @returns the names of the applied migrations.
 * @throws Error if `distribution` does not match the database.
 */
export async function applyMigrations(
  runner: QueryRunner,
  distribution: Distribution = 'none',
): Promise<string[]> {
  if (distribution === 'citus') await requireCitus(runner);
  const isAlreadyDistributed = await isDistributed(runner);
  if (isAlreadyDistributed && distribution !== 'citus')
    throw new Error('the rows of users are distributed: set DATABASE_DISTRIBUTION=citus');
  if (isAlreadyDistributed)
    for (const migration of runner.dataSource.migrations) distributeNewTables(migration);
  const executor = new MigrationExecutor(runner.dataSource, runner);
  executor.transaction = 'each';
  const appliedNames = (await executor.executePendingMigrations()).map(({ name }) => name);
  if (distribution === 'citus') {
    await distributeTablesOfUsers(runner);
    await publishOnAllNodes(runner);
  }
  return appliedNames;
}

/** Makes a migration distribute its new tables and functions in its own transaction. */
function distributeNewTables(migration: MigrationInterface): void {
  const up = migration.up.bind(migration);
  migration.up = async (runner) => {
    // Citus requires this mode, because TypeORM also changes sync.migrations, a table on all nodes,
    // in the same transaction.
    await runner.query(`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`);
    await up(runner);
    await distributeTablesOfUsers(runner);
  };
}

/** Returns the statements that would make the schema match the entities; empty if it matches. */
export async function findSchemaDrift(dataSource: DataSource): Promise<string[]> {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}
