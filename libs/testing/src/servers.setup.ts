import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startPostgres, startRedis } from '#embedded';
import { database, migrate } from './migrated.database.js';
import { type SharedSystem, startSharedSystem } from './shared.system.js';
import { closeTemplate } from './test.database.js';
import { openRunDirectory, removeRunDirectory } from './run.directory.js';

/** Values that the `int` tier provides to its tests. */
interface Servers {
  /** The owner's URL of the migrated template database that others are cloned from. */
  templateUrl: string;
  /** The folder of a stopped and migrated Postgres that others are copied from. */
  postgresFolder: string;
  /** The owner's URL of a database without tables. */
  adminUrl: string;
  /** A Redis that all test files share. */
  redisUrl: string;
  programs: string;
  /** The running system that files share; only in the `int` tier. */
  system?: SharedSystem;
}

declare module 'vitest' {
  // Vitest declares this interface for merging.
  interface ProvidedContext {
    servers: Servers;
  }
}

/** Kept between runs, which saves downloads. */
const programs = fileURLToPath(new URL('../../../.data/programs', import.meta.url));

/**
 * Starts a Postgres with a migrated template, and a Redis, for each project of a run that needs
 * servers. Both are removed at its end.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await openRunDirectory(project.name);
  try {
    const progress = console.log;
    const [{ postgres, postgresFolder }, redis] = await Promise.all([
      startMigrated(join(directory, 'postgres')),
      startRedis({ directory: join(directory, 'redis'), programs, durable: false, progress }),
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
  const start = () => startPostgres({ directory, database, durable: false, progress: console.log });
  const first = await start();
  await migrate(first.url);
  await first.stop();
  const postgresFolder = `${directory}-template`;
  // Keeps the owner of the files, which is not root.
  execFileSync('cp', ['-a', directory, postgresFolder]);
  return { postgres: await start(), postgresFolder };
}
