import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from '#embedded';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { StandaloneOptions } from './standalone-options.js';

/** Maximum milliseconds until a configured Postgres or Redis answers. Then the start fails. */
const answerTimeoutMs = 3_000;

/** Minimum free bytes for a data directory. A new Postgres needs some 50 MB, and its WAL too. */
const minFreeBytes = 200_000_000;

/**
 * Creates the data directory and checks that it is writable.
 *
 * @throws StartError that names the directory and a solution.
 */
export function checkDirectory(directory: string): void {
  const probeFile = join(directory, `.probe.${process.pid}`);
  try {
    makeDirectories(directory);
    writeFileSync(probeFile, 'x');
    rmSync(probeFile);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const reason = directoryFaults[code] ?? `it can't be written to (${code || String(error)})`;
    throw new StartError(
      `The data directory ${directory} can't be used: ${reason}. ${chooseAnotherDirectory}`,
    );
  }
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < minFreeBytes)
    throw new StartError(
      `The data directory ${directory} can't be used: ${minFreeBytes / 1e6} MB are needed, ` +
        `${Math.floor((bavail * bsize) / 1e6)} MB are free. ${chooseAnotherDirectory}`,
    );
}

/** Creates each missing directory, because `recursive` of `mkdirSync` never returns in /proc. */
function makeDirectories(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectories(dirname(directory));
  mkdirSync(directory);
}

const chooseAnotherDirectory = 'Choose another one: npm start -- --data DIR';
/** Reasons for messages to the operator, by error code. */
const directoryFaults: Readonly<Record<string, string>> = {
  EACCES: 'this user is not allowed to write to it',
  EPERM: 'this user is not allowed to write to it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its file system is full',
  EDQUOT: 'its file system is full',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'its file system takes no new directories',
};

/**
 * Checks the servers of `POSTGRES_URL` and `REDIS_URL`. Returns false if the user of `POSTGRES_URL`
 * cannot create roles, else true.
 *
 * @throws StartError that names the setting, the fault and the requirement.
 */
export async function checkServers(
  options: Pick<StandaloneOptions, 'POSTGRES_URL' | 'REDIS_URL'>,
): Promise<boolean> {
  const [canCreateRoles] = await Promise.all([
    options.POSTGRES_URL === undefined ? true : checkPostgres(options.POSTGRES_URL),
    options.REDIS_URL === undefined ? undefined : checkRedis(options.REDIS_URL),
  ]);
  return canCreateRoles;
}

/** Checks that the user can create schemas. @returns true if the user can also create roles. */
function checkPostgres(url: string): Promise<boolean> {
  return queryPostgres(url, async (client) => {
    const { rows } = await client.query<{
      user: string;
      database: string;
      roles: boolean;
      schemas: boolean;
    }>(
      `SELECT rolname AS user, current_database() AS database, rolsuper OR rolcreaterole AS roles,
         has_database_privilege(current_database(), 'CREATE') AS schemas
       FROM pg_roles WHERE rolname = current_user`,
    );
    const { user, database, roles, schemas } = rows[0] as (typeof rows)[number];
    if (schemas) return roles;
    throw new StartError(
      `POSTGRES_URL: ${user} is not allowed to create schemas in the database ${database}. ` +
        `It has to be the owner: ALTER DATABASE "${database}" OWNER TO "${user}"`,
    );
  });
}

/**
 * Checks that no system on another database of the server is connected with one of the logins. The
 * databases of a server share its logins, and a start changes their passwords.
 *
 * @throws StartError that names the other database and a solution.
 */
export async function checkLoginsUnused(url: string, logins: readonly string[]): Promise<void> {
  const [other] = await queryPostgres(
    url,
    async (client) =>
      (
        await client.query<{ login: string; database: string }>(
          `SELECT usename AS login, datname AS database FROM pg_stat_activity
           WHERE usename = ANY ($1::text[]) AND datname <> current_database() LIMIT 1`,
          [logins],
        )
      ).rows,
  );
  if (other)
    throw new StartError(
      `POSTGRES_URL: another system uses the login ${other.login} on the database ` +
        `${other.database} of this server, and a start would change its password. Stop that ` +
        'system first, or use another Postgres server, or a user who cannot create roles.',
    );
}

/** Runs queries on a configured Postgres. @throws StartError that names the setting. */
async function queryPostgres<T>(
  url: string,
  runQueries: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: answerTimeoutMs,
    query_timeout: answerTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await runQueries(client);
  } catch (error) {
    throw error instanceof StartError
      ? error
      : createUnusableServerError('POSTGRES_URL', 'Postgres', url, error);
  } finally {
    void client.end().catch(() => {});
  }
}

async function checkRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: answerTimeoutMs,
    commandTimeout: answerTimeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let connectionError: unknown;
  redis.on('error', (error) => (connectionError ??= error));
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    throw createUnusableServerError('REDIS_URL', 'Redis', url, connectionError ?? error);
  } finally {
    redis.disconnect();
  }
}

/** Returns the error for a server that cannot be used, without the password in its URL. */
function createUnusableServerError(
  setting: string,
  server: string,
  url: string,
  cause: unknown,
): StartError {
  const { host, pathname } = new URL(url);
  const { message, code } = cause as NodeJS.ErrnoException;
  const reason = message || code || String(cause);
  return new StartError(`${setting}: ${server} cannot be used at ${host}${pathname}: ${reason}`, {
    cause,
  });
}
