import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startPostgres, startRedis } from '#embedded';
import { database, migrate } from './migrated-database.js';
import { type SharedSystem, startSharedSystem } from './shared-system.js';
import { closeTemplate } from './test-database.js';
import { openRunDirectory, removeRunDirectory } from './run-directory.js';

/** Values that the `int` tier provides to its tests. */
interface Servers {
  /** URL of the migrated template database, of which tests create copies; as owner. */
  templateUrl: string;
  /** Folder of a stopped, migrated Postgres, of which tests create copies. */
  postgresFolder: string;
  /** URL of a database without tables; as owner. */
  adminUrl: string;
  /** A Redis that all test files share. */
  redisUrl: string;
  /** Folder with the programs of Redis. */
  programs: string;
  /** The running system that files share; only in the `int` tier. */
  system?: SharedSystem;
}

declare module 'vitest' {
  // Adds a property to the interface of Vitest, which is declared for this purpose.
  interface ProvidedContext {
    servers: Servers;
  }
}

/** Folder of downloaded programs, kept between runs. */
const programs = fileURLToPath(new URL('../../../.data/programs', import.meta.url));

/**
 * Starts a Postgres with a migrated template, and a Redis, for each project of a run that needs
 * servers. Both are removed at its end.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await openRunDirectory(project.name);
  try {
    const reportProgress = console.log;
    const [{ postgres, postgresFolder }, redis] = await Promise.all([
      startMigrated(join(directory, 'postgres')),
      startRedis({ directory: join(directory, 'redis'), programs, durable: false, reportProgress }),
    ]);
    const adminUrl = await closeTemplate(postgres.url);
    const shared =
      project.name === 'int'
        ? await startSharedSystem({ directory, programs, templateUrl: postgres.url })
        : undefined;
    project.provide('servers', {
      templateUrl: postgres.url,
      postgresFolder,
      adminUrl,
      redisUrl: redis.url,
      programs,
      system: shared?.system,
    });
    return async () => {
      await shared?.stop();
      await Promise.all([redis.stop(), postgres.stop()]);
      await removeRunDirectory(directory);
    };
  } catch (error) {
    await removeRunDirectory(directory);
    throw error;
  }
}

/** Starts a Postgres with a migrated database. Also returns a stopped copy, to copy again. */
async function startMigrated(directory: string) {
  const start = () =>
    startPostgres({ directory, database, durable: false, reportProgress: console.log });
  const first = await start();
  await migrate(first.url);
  await first.stop();
  const postgresFolder = `${directory}-template`;
  // Copies with `cp -a` to keep the owner of the files, which is not root.
  execFileSync('cp', ['-a', directory, postgresFolder]);
  return { postgres: await start(), postgresFolder };
}
