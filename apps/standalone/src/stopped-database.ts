import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { startPostgres } from '#embedded';
import { loadConfig, type ProgramIo, withStopSignal } from '#runtime';
import { lockData } from './data-lock.js';
import { checkDirectory, checkServers } from './start-checks.js';
import { standaloneConfig } from './standalone-options.js';

/**
 * Runs a function on the database of a data directory whose system is stopped. Meanwhile it locks
 * the directory, and runs the embedded Postgres unless POSTGRES_URL is set. SIGINT and SIGTERM stop
 * that Postgres.
 *
 * @param run receives the variables of `migrate` for the owner of the database.
 * @throws StartError if the system runs, or the directory or server is unusable. After a signal,
 *   Error with its name.
 */
export async function withStoppedDatabase(
  data: string,
  io: ProgramIo,
  run: (env: NodeJS.ProcessEnv) => Promise<void>,
): Promise<void> {
  const config = loadConfig(standaloneConfig, io.env);
  const directory = resolve(data);
  checkDirectory(directory);
  const canCreateRoles = await checkServers(config);
  const unlock = lockData(directory);
  try {
    const environment = (url: string) => ({
      DATABASE_URL: url,
      MIGRATE_GROUPS: canCreateRoles ? 'on' : 'none',
    });
    if (config.POSTGRES_URL !== undefined) return await run(environment(config.POSTGRES_URL));
    await withStopSignal(async (stopped) => {
      const postgres = await startPostgres({
        directory: join(directory, 'postgres'),
        database: 'podcast_sync',
        stopped,
        reportProgress: (line) => void io.stderr.write(`${line}\n`),
      });
      try {
        // The stop of Postgres rolls back, and ends the function.
        await Promise.race([run(environment(postgres.url)), once(stopped, 'abort')]);
        stopped.throwIfAborted();
      } finally {
        await postgres.stop();
      }
    });
  } finally {
    unlock();
  }
}
