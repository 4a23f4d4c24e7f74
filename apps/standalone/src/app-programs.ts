import { join } from 'node:path';
import type { FeedsMode } from '#contracts';
import { readOrCreateSecret, writePrivateFile } from '#embedded';
import { AppLog } from './app-log.js';
import type { AppProgram } from './app-process.js';
import type { Outages } from './outages.js';

/** URLs of the Postgres and the Redis that the apps use. */
export interface Backends {
  /** URL of Postgres with the login of the owner of the database. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** Options that the programs of one run share. */
export interface ProgramOptions extends Backends {
  /** True if each service has its own database role; otherwise all use the owner. */
  readonly canCreateRoles: boolean;
  /** True without `POSTGRES_URL`. */
  readonly isPostgresEmbedded: boolean;
  /** Path of the data directory. */
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** URL of the edge for clients, and issuer of the account app's tokens. */
  readonly baseUrl: string;
  /** The only URL that clients use. If undefined, links have the host of each request. */
  readonly publicUrl: string | undefined;
  /** Number of processes of each service. */
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
 * Maximum connections of all services to the embedded Postgres. Its other 20 connections are for
 * the edge, `migrate`, commands of operators and the superuser.
 */
const maxServiceConnections = 280;
/** Default of `DATABASE_POOL_SIZE`. */
const defaultPoolSize = 10;

/** Returns the login of a role in Postgres. */
const buildLogin = (role: string) => `podcast_sync_${role}`;

/** Logins that a start creates. A start changes the passwords of existing logins. */
export const logins = [...serviceRoles.map(({ role }) => role), 'dump', 'account'].map(buildLogin);

/**
 * Returns every program of a run with its configuration. Also creates missing passwords, and writes
 * the URLs that operators' commands read from the data directory (`--data`).
 *
 * @param folder the folder of the bundled programs.
 */
export function appPrograms(
  options: ProgramOptions,
  folder: string,
): { migrate: AppProgram; services: AppProgram[]; firstLink: AppProgram; edge: AppProgram } {
  const { data, postgresUrl, redisUrl, replicas } = options;
  const createProgram = (
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
  const urls = services.map(({ role }) => buildRoleUrl(options, role));
  const dumpUrl = buildRoleUrl(options, 'dump');
  writePrivateFile(join(data, 'deletions-database-url'), `${buildRoleUrl(options, 'deletion')}\n`);
  writePrivateFile(join(data, 'dump-database-url'), `${dumpUrl}\n`);
  writePrivateFile(join(data, 'owner-database-url'), `${postgresUrl}\n`);
  writePrivateFile(join(data, 'redis-url'), `${redisUrl}\n`);
  const accountVariables = buildAccountEnvironment(options);
  const accountUrl = buildRoleUrl(options, 'account');
  writePrivateFile(join(data, 'account-database-url'), `${accountUrl}\n`);
  writePrivateFile(join(data, 'account-url'), `${options.baseUrl}\n`);
  return {
    migrate: createProgram(
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
        createProgram(app, replicas === 1 ? app : `${app}-${replica + 1}`, {
          DATABASE_URL: urls[i] ?? '',
          REDIS_URL: redisUrl,
          ...buildPoolEnvironment(options),
          // Publishers of feeds see this URL in requests. An empty value counts as not set.
          ...(app === 'feed' && { PUBLIC_URL: options.publicUrl ?? '' }),
        }),
      ),
    ),
    firstLink: createProgram('podcast-sync', 'accounts', accountVariables, [
      'accounts',
      'first-link',
    ]),
    edge: createProgram('edge', 'edge', { ...accountVariables, ...buildEdgeEnvironment(options) }),
  };
}

/** Returns a pool size with which many replicas do not exceed {@link maxServiceConnections}. */
function buildPoolEnvironment({
  isPostgresEmbedded,
  replicas,
}: ProgramOptions): Record<string, string> {
  const { DATABASE_POOL_SIZE: configuredSize, DATABASE_POOL_SIZE_FILE: sizeFile } = process.env;
  const fittingSize = Math.floor(maxServiceConnections / serviceRoles.length / replicas);
  if (!isPostgresEmbedded || configuredSize || sizeFile || fittingSize >= defaultPoolSize)
    return {};
  return { DATABASE_POOL_SIZE: String(Math.max(fittingSize, 1)) };
}

function buildEdgeEnvironment({
  publicUrl,
  host,
  port,
  data,
}: ProgramOptions): Record<string, string> {
  return {
    HOST: host,
    PORT: String(port),
    // With an empty value, links have the host of each request.
    PUBLIC_URL: publicUrl ?? '',
    // The key is stored, so that session cookies stay valid after a restart.
    SESSION_KEY: readOrCreateSecret(join(data, 'passwords', 'session-key')),
  };
}

function buildAccountEnvironment(options: ProgramOptions): Record<string, string> {
  const { baseUrl, data, redisUrl } = options;
  return {
    DATABASE_URL: buildRoleUrl(options, 'account'),
    REDIS_URL: redisUrl,
    PUBLIC_URL: baseUrl,
    KEYS_DIRECTORY: join(data, accountKeys),
    SECRETS_KEY: readOrCreateSecret(join(data, 'passwords', 'secrets-key')),
  };
}

/** Returns the URL with a role's login; the owner's URL if the owner cannot create roles. */
function buildRoleUrl({ postgresUrl, canCreateRoles, data }: ProgramOptions, role: string): string {
  if (!canCreateRoles) return postgresUrl;
  const password = readOrCreateSecret(join(data, 'passwords', role));
  return Object.assign(new URL(postgresUrl), { username: buildLogin(role), password }).href;
}
