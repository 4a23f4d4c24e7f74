import {
  areBeforeFirstRelease,
  createPool,
  ensureGroups,
  ensureLogin,
  groups,
  laterMigrations,
  skipGroupGrants,
} from '#database';
import { applyMigrations, createDataSource, findSchemaDrift } from '#database/typeorm';
import type { Log } from '#runtime';
import type { QueryRunner } from 'typeorm';
import type { z } from 'zod';
import type { migrateConfig } from './migrate.config.js';

/** Key of the advisory lock that serializes migrations of a database. Nothing else uses it. */
const advisoryLockKey = 5_067_220_841;

const tooOldMessage =
  'The database was created by a version before 0.2.0, which cannot be upgraded. ' +
  'It is unchanged. Keep it, and start with an empty one: choose another --data directory or ' +
  "another database. To take the users' data with you, follow docs/guide/upgrade.md, " +
  '"From a version before 0.2.0".';

/**
 * Migrates the group roles, the schema and the logins of the database to this release. A repetition
 * has no effect. Concurrent calls wait for each other. The schema of a later release stays
 * unchanged, so a release can be rolled back.
 *
 * @throws Error for a database of a version before 0.2.0, which stays unchanged. Also if tables of
 *   the account schema differ from this release, unless a later release migrated the database.
 */
export async function migrate(config: z.output<typeof migrateConfig>, log: Log): Promise<void> {
  const dataSource = createDataSource(
    createPool({
      url: config.DATABASE_URL,
      poolSize: 4,
      applicationName: 'migrate',
      statementTimeoutMs: 0,
      distribution: config.DATABASE_DISTRIBUTION,
    }),
  );
  await dataSource.initialize();
  // All statements use one connection, because the advisory lock belongs to its session.
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [advisoryLockKey]);
    if (areBeforeFirstRelease(await readAppliedMigrations(runner))) throw new Error(tooOldMessage);
    if (config.MIGRATE_GROUPS === 'on') await ensureGroups(runner);
    if (config.MIGRATE_GROUPS === 'none') skipGroupGrants(runner);
    await runner.query('CREATE SCHEMA IF NOT EXISTS sync');
    for (const migration of await applyMigrations(runner, config.DATABASE_DISTRIBUTION))
      log.info({ migration }, 'migration applied');
    const urlsByGroup = {
      [groups.subscription]: config.SUBSCRIPTION_DATABASE_URL,
      [groups.episode]: config.EPISODE_DATABASE_URL,
      [groups.deletion]: config.DELETION_DATABASE_URL,
      [groups.dump]: config.DUMP_DATABASE_URL,
      [groups.account]: config.ACCOUNT_DATABASE_URL,
      [groups.feed]: config.FEED_DATABASE_URL,
    };
    for (const [group, url] of Object.entries(urlsByGroup))
      if (url && config.MIGRATE_GROUPS !== 'none') await ensureLogin(runner, group, url);
    const laterNames = laterMigrations(await readAppliedMigrations(runner));
    if (laterNames.length > 0)
      return log.warn(
        { migrations: laterNames },
        'schema is of a later release: unchanged, except for roles and logins',
      );
    const differences = await findSchemaDrift(dataSource);
    if (differences.length > 0)
      throw new Error(
        'tables of the account schema differ from this release. Undo manual changes, or report a ' +
          `bug. Statements that would correct them:\n${differences.join('\n')}`,
      );
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

/** Returns the names of the applied migrations in their order; none for a new database. */
async function readAppliedMigrations(runner: QueryRunner): Promise<string[]> {
  const [{ exists }] = (await runner.query(
    `SELECT to_regclass('sync.migrations') IS NOT NULL AS "exists"`,
  )) as [{ exists: boolean }];
  if (!exists) return [];
  const rows = (await runner.query('SELECT name FROM sync.migrations ORDER BY id')) as {
    name: string;
  }[];
  return rows.map(({ name }) => name);
}
