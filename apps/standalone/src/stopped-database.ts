import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { startPostgres } from '#embedded';
import { loadConfig, type ProgramIo, withStopSignal } from '#runtime';
import { lockData } from './data-lock.js';
import { checkDirectory, checkServers } from './start-checks.js';
import { standaloneConfig } from './standalone-options.js';

/**
 * Runs a function on the database of a stopped system. Until the function ends, the data directory
 * is locked, and the embedded Postgres runs unless `POSTGRES_URL` is set. SIGINT and SIGTERM stop
 * the embedded Postgres.
 *
 * @param run receives the variables of `migrate` for the owner of the database.
 * @throws StartError if the system runs, or the directory or server is unusable. After a signal,
 *   Error with the name of the signal.
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
    const buildEnvironment = (url: string) => ({
      DATABASE_URL: url,
      MIGRATE_GROUPS: canCreateRoles ? 'on' : 'none',
    });
    if (config.POSTGRES_URL !== undefined) return await run(buildEnvironment(config.POSTGRES_URL));
    await withStopSignal(async (stopped) => {
      const postgres = await startPostgres({
        directory: join(directory, 'postgres'),
        database: 'podcast_sync',
        stopped,
        reportProgress: (line) => void io.stderr.write(`${line}\n`),
      });
      try {
        // A signal ends this wait. The stop of Postgres then rolls back the transaction of `run`.
        await Promise.race([run(buildEnvironment(postgres.url)), once(stopped, 'abort')]);
        stopped.throwIfAborted();
      } finally {
        await postgres.stop();
      }
    });
  } finally {
    unlock();
  }
}
