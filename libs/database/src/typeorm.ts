import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';

export * from './entities/index.js';
export { applyMigrations, findSchemaDrift } from './schema.js';

/**
 * Creates TypeORM's data source for repositories and migrations. It uses the connections of a pool,
 * and destroying it closes the pool.
 */
export function createDataSource(pool: Pool): DataSource {
  return new DataSource({
    type: 'postgres',
    driver: {
      // TypeORM calls `new Pool()`, and this constructor returns the existing pool.
      Pool: function () {
        return pool;
      },
    },
    entities,
    migrations,
    schema: 'sync',
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    logging: false,
    poolErrorHandler: () => undefined,
  });
}
