import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedServer, type ServerOptions, StartError } from './embedded-server.js';
import { startOnFreePort } from './free-port.js';
import { findOrCopyBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { changeOwner, ensurePostgresLocation, type PostgresLocation } from './postgres-location.js';
import { readOrCreateSecret } from './secret-file.js';
import { ServerProcess, stopOrphan, type ServerProgram } from './server-process.js';

interface PostgresOptions extends ServerOptions {
  /** The database in the URL, which is created if missing. Default: `postgres`. */
  readonly database?: string;
}

const ownerLogin = 'postgres';

/**
 * Starts an embedded Postgres on 127.0.0.1, from the programs of the npm package. The first start
 * creates the data directory, with a random password in a file of mode 0600.
 *
 * @throws StartError with a message for the operator.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedServer> {
  const { directory, database = 'postgres', durable = true, reportProgress = () => {} } = options;
  const location = ensurePostgresLocation(directory, reportProgress);
  const binaries = findOrCopyBinaries(location, reportProgress);
  const password = readOrCreateSecret(join(directory, 'password'));
  const data = join(realpathSync(location.home), 'data');
  if (!existsSync(data)) await initializeDataDirectory(data, location, binaries, password, durable);
  requireSameVersion(data, binaries);

  const startOnPort = async (port: number): Promise<EmbeddedServer> => {
    const program: ServerProgram = {
      ...buildPostgresIdentity(data),
      command: binaries.postgres,
      args: [
        '-D',
        data,
        ...buildPostgresSettings(port, durable).flatMap((setting) => ['-c', setting]),
      ],
      account: location.account,
      env: buildPostgresEnvironment(),
      logFile: join(directory, 'postgres.log'),
    };
    if (await stopOrphan(program))
      reportProgress('stopped a Postgres that an earlier start had left behind');
    const buildUrl = (name: string) =>
      `postgres://${ownerLogin}:${password}@127.0.0.1:${port}/${name}`;
    const server = await ServerProcess.start(
      program,
      () => ensureDatabase(buildUrl('postgres'), database),
      options.stopped,
    );
    return {
      url: buildUrl(database),
      port,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop(),
    };
  };
  return options.port === undefined ? startOnFreePort(startOnPort) : startOnPort(options.port);
}

/** Stops a server that still runs on a directory of {@link startPostgres}, and removes its data. */
export async function removePostgres(directory: string): Promise<void> {
  const { home } = ensurePostgresLocation(directory, () => {});
  const data = join(realpathSync(home), 'data');
  await stopOrphan(buildPostgresIdentity(data));
  for (const folder of [home, directory]) rmSync(folder, { recursive: true, force: true });
}

/** Returns the values that identify the Postgres of a data directory, and its stop signals. */
function buildPostgresIdentity(data: string) {
  return {
    name: 'Postgres',
    data,
    pidFile: join(data, 'postmaster.pid'),
    // Postgres' "fast" and "immediate" shutdown. SIGTERM would wait until all clients disconnect.
    stopSignal: 'SIGINT',
    forceSignal: 'SIGQUIT',
    // The SQLSTATE cannot_connect_now: Postgres starts, or recovers its data after a crash.
    isStarting: (error: unknown) => (error as { code?: string }).code === '57P03',
  } as const;
}

/** Creates a data directory under another name, then renames it. `data` is never incomplete. */
async function initializeDataDirectory(
  data: string,
  { account, home }: PostgresLocation,
  { initdb }: PostgresBinaries,
  password: string,
  durable: boolean,
): Promise<void> {
  const unfinishedData = `${data}.new`;
  const passwordFile = join(home, 'password.new');
  rmSync(unfinishedData, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  mkdirSync(unfinishedData, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  changeOwner(unfinishedData, account);
  changeOwner(passwordFile, account);
  const args = [
    `--pgdata=${unfinishedData}`,
    `--username=${ownerLogin}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
  try {
    await runInitdb(initdb, args, {
      ...account,
      cwd: unfinishedData,
      env: buildPostgresEnvironment(),
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(unfinishedData, data);
}

function requireSameVersion(data: string, { major }: PostgresBinaries): void {
  const dataVersion = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (dataVersion !== major)
    throw new StartError(
      `The data in ${data} was written by Postgres ${dataVersion}, ` +
        `and this is Postgres ${major}. Migrate it with pg_dump of Postgres ${dataVersion}, ` +
        'or remove the folder to start with no data.',
    );
}

function buildPostgresSettings(port: number, durable: boolean): string[] {
  return [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    // Postgres accepts only TCP: a socket file would need a directory that all users can reach.
    'unix_socket_directories=',
    'max_connections=300',
    // Errors are logged tersely, because details would quote values of users' rows.
    'log_error_verbosity=terse',
    // JIT compilation is off, because it would take longer than each of the short statements.
    'jit=off',
    // In seconds. Connections keep query plans for empty tables until autovacuum runs ANALYZE, by
    // default once a minute.
    'autovacuum_naptime=15',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ];
}

/** Returns this process's environment without Postgres' variables (PGDATA, PGPORT, …). */
function buildPostgresEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(inherited), LC_ALL: 'C' };
}

async function ensureDatabase(url: string, database: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A connection error is ignored, because `exited` reports a Postgres that stops.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [
      database,
    ]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
  } finally {
    await client.end().catch(() => {});
  }
}

function runInitdb(
  command: string,
  args: readonly string[],
  options: { uid?: number; gid?: number; cwd: string; env: NodeJS.ProcessEnv },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let errorOutput = '';
    child.stderr.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve()
        : reject(
            new StartError(`initdb could not create the data directory.\n${errorOutput.trim()}`),
          ),
    );
  });
}
