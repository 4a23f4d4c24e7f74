import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { entities } from './entities/index.js';
import { migrations } from './migrations/index.js';

/**
 * Creates a data source for repositories and migrations. It uses the connections of a pool, and
 * closes the pool when it is destroyed.
 */
export function createDataSource(pool: Pool): DataSource {
  return new DataSource({
    type: 'postgres',
    driver: {
      // TypeORM creates its pool with this constructor, whose result replaces the new object.
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
