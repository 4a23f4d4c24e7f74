import { createDataSource, ensureGroups, ensureLogin, groups } from '#database';
import type { Log } from '#runtime';
import type { z } from 'zod';
import type { migrateConfig } from './migrate.config.js';

/** Keeps two migrations of one database apart; any number that nothing else uses. */
const advisoryLock = 5_067_220_841;

/**
 * Brings the database to the state this build knows: group roles, schema, logins. Running it again changes nothing,
 * and several may run at once.
 *
 * @throws Error when the schema then differs from the entities.
 */
export async function migrate(config: z.output<typeof migrateConfig>, log: Log): Promise<void> {
  const dataSource = createDataSource({
    url: config.DATABASE_URL,
    poolSize: 4,
    applicationName: 'migrate',
    statementTimeoutMs: 0,
  });
  await dataSource.initialize();
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [advisoryLock]);
    if (config.MIGRATE_GROUPS === 'on') await ensureGroups(lock);
    await lock.query('CREATE SCHEMA IF NOT EXISTS sync');
    for (const migration of await dataSource.runMigrations()) log.info({ migration: migration.name }, 'migrated');
    const logins = {
      [groups.subscription]: config.SUBSCRIPTION_DATABASE_URL,
      [groups.episode]: config.EPISODE_DATABASE_URL,
      [groups.deletion]: config.DELETION_DATABASE_URL,
    };
    for (const [group, url] of Object.entries(logins)) if (url) await ensureLogin(lock, group, url);
    const drift = await dataSource.driver.createSchemaBuilder().log();
    if (drift.upQueries.length > 0) {
      throw new Error(`the schema differs from the entities:\n${drift.upQueries.map(({ query }) => query).join('\n')}`);
    }
  } finally {
    await lock.release();
    await dataSource.destroy();
  }
}
