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
  /** URL of the migrated template database, with the login of the owner. Tests copy it. */
  templateUrl: string;
  /** Data folder of a stopped, migrated Postgres. Tests copy it. */
  postgresFolder: string;
  /** URL of a database without tables, with the login of the owner. */
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
 * servers. Removes both at the end of the project.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await openRunDirectory(project.name);
  try {
    const reportProgress = console.log;
    const [{ postgres, postgresFolder }, redis] = await Promise.all([
      startMigratedPostgres(join(directory, 'postgres')),
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

/** Starts a Postgres with a migrated database. Also returns the folder of a stopped copy. */
async function startMigratedPostgres(directory: string) {
  const startServer = () =>
    startPostgres({ directory, database, durable: false, reportProgress: console.log });
  const server = await startServer();
  await migrate(server.url);
  await server.stop();
  const postgresFolder = `${directory}-template`;
  // `cp -a` keeps the owner of the files. If root runs the tests, the owner is another user.
  execFileSync('cp', ['-a', directory, postgresFolder]);
  return { postgres: await startServer(), postgresFolder };
}
