import { join } from 'node:path';
import type { FeedsMode } from '#contracts';
import { readOrCreateSecret, writePrivateFile } from '#embedded';
import { AppLog } from './app-log.js';
import type { AppProgram } from './app-process.js';
import type { Outages } from './outages.js';

/** URLs of the Postgres and the Redis that the apps use. */
export interface Backends {
  /** URL of Postgres as the owner of the database. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** Options that the programs of one run share. */
export interface ProgramOptions extends Backends {
  /** True if each service has its own database role; otherwise all use the owner. */
  readonly canCreateRoles: boolean;
  /** True without `POSTGRES_URL`. */
  readonly isPostgresEmbedded: boolean;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** URL of the edge for clients, which is also the issuer of the account app's tokens. */
  readonly baseUrl: string;
  /** Set if clients use only this URL; otherwise links have the host of each request. */
  readonly publicUrl: string | undefined;
  readonly replicas: number;
  /** Source of titles and episodes; with `off` no feed service runs. */
  readonly feeds: FeedsMode;
  readonly logLevel: string;
  readonly printLine: (line: string) => void;
  readonly outages: Outages;
}

/** Folder of the account app's keys, below the data directory. */
export const accountKeys = join('keys', 'account');

const serviceRoles = [
  { app: 'subscription', role: 'subscription' },
  { app: 'episode', role: 'episode' },
  { app: 'deletion-worker', role: 'deletion' },
  { app: 'feed', role: 'feed' },
] as const;

/**
 * Connections of all services to the embedded Postgres, which has 300. The others are for the edge,
 * `migrate`, commands of operators and the superuser.
 */
const serviceConnections = 280;
/** Default of `DATABASE_POOL_SIZE`. */
const defaultPoolSize = 10;

/** Returns the login of a role in Postgres. */
const loginOf = (role: string) => `podcast_sync_${role}`;

/** Logins that a start creates, or whose passwords it changes. */
export const logins = [...serviceRoles.map(({ role }) => role), 'dump', 'account'].map(loginOf);

/**
 * Returns every program of a run with its configuration. Also writes the files by which operators'
 * commands find the run (`--data`), and creates missing passwords.
 *
 * @param folder the folder of the bundled programs.
 */
export function appPrograms(
  options: ProgramOptions,
  folder: string,
): { migrate: AppProgram; services: AppProgram[]; firstLink: AppProgram; edge: AppProgram } {
  const { data, postgresUrl, redisUrl, replicas } = options;
  const program = (
    app: string,
    name: string,
    environment: Record<string, string>,
    args?: string[],
  ): AppProgram => ({
    name,
    script: join(folder, `${app}.js`),
    ...(args && { args }),
    environment: { LOG_LEVEL: options.logLevel, FEEDS: options.feeds, ...environment },
    log: new AppLog(name, join(data, 'logs', `${name}.log`), options.printLine, options.outages),
  });
  const services = serviceRoles.filter(({ app }) => options.feeds !== 'off' || app !== 'feed');
  const urls = services.map(({ role }) => roleUrl(options, role));
  const dumpUrl = roleUrl(options, 'dump');
  writePrivateFile(join(data, 'deletions-database-url'), `${roleUrl(options, 'deletion')}\n`);
  writePrivateFile(join(data, 'dump-database-url'), `${dumpUrl}\n`);
  writePrivateFile(join(data, 'owner-database-url'), `${postgresUrl}\n`);
  writePrivateFile(join(data, 'redis-url'), `${redisUrl}\n`);
  const account = accountEnvironment(options);
  const accountUrl = roleUrl(options, 'account');
  writePrivateFile(join(data, 'account-database-url'), `${accountUrl}\n`);
  writePrivateFile(join(data, 'account-url'), `${options.baseUrl}\n`);
  return {
    migrate: program(
      'podcast-sync',
      'migrate',
      {
        DATABASE_URL: postgresUrl,
        MIGRATE_GROUPS: options.canCreateRoles ? 'on' : 'none',
        ...Object.fromEntries(
          services.map(({ role }, i) => [`${role.toUpperCase()}_DATABASE_URL`, urls[i] ?? '']),
        ),
        DUMP_DATABASE_URL: dumpUrl,
        ACCOUNT_DATABASE_URL: accountUrl,
      },
      ['migrate'],
    ),
    services: services.flatMap(({ app }, i) =>
      Array.from({ length: replicas }, (_, replica) =>
        program(app, replicas === 1 ? app : `${app}-${replica + 1}`, {
          DATABASE_URL: urls[i] ?? '',
          REDIS_URL: redisUrl,
          ...poolEnvironment(options),
          // Publishers of feeds see this URL in requests. An empty value counts as not set.
          ...(app === 'feed' && { PUBLIC_URL: options.publicUrl ?? '' }),
        }),
      ),
    ),
    firstLink: program('podcast-sync', 'accounts', account, ['accounts', 'first-link']),
    edge: program('edge', 'edge', { ...account, ...edgeEnvironment(options) }),
  };
}

/** Lowers the pools of many replicas to the connections that the embedded Postgres has. */
function poolEnvironment({ isPostgresEmbedded, replicas }: ProgramOptions): Record<string, string> {
  const { DATABASE_POOL_SIZE: size, DATABASE_POOL_SIZE_FILE: sizeFile } = process.env;
  const fitting = Math.floor(serviceConnections / serviceRoles.length / replicas);
  if (!isPostgresEmbedded || size || sizeFile || fitting >= defaultPoolSize) return {};
  return { DATABASE_POOL_SIZE: String(Math.max(fitting, 1)) };
}

function edgeEnvironment({ publicUrl, host, port, data }: ProgramOptions): Record<string, string> {
  return {
    HOST: host,
    PORT: String(port),
    // Without a public URL, the empty value makes links have the host of each request.
    PUBLIC_URL: publicUrl ?? '',
    // The key is stored, so that session cookies stay valid after a restart.
    SESSION_KEY: readOrCreateSecret(join(data, 'passwords', 'session-key')),
  };
}

function accountEnvironment(options: ProgramOptions): Record<string, string> {
  const { baseUrl, data, redisUrl } = options;
  return {
    DATABASE_URL: roleUrl(options, 'account'),
    REDIS_URL: redisUrl,
    PUBLIC_URL: baseUrl,
    KEYS_DIRECTORY: join(data, accountKeys),
    SECRETS_KEY: readOrCreateSecret(join(data, 'passwords', 'secrets-key')),
  };
}

/** Returns the URL of a role with a stored password; the owner's URL if it cannot create roles. */
function roleUrl({ postgresUrl, canCreateRoles, data }: ProgramOptions, role: string): string {
  if (!canCreateRoles) return postgresUrl;
  const password = readOrCreateSecret(join(data, 'passwords', role));
  return Object.assign(new URL(postgresUrl), { username: loginOf(role), password }).href;
}
