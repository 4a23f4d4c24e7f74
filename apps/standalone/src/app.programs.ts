import { join } from 'node:path';
import { secretFile, writePrivateFile } from '#embedded';
import { AppLog } from './app.log.js';
import type { AppProgram } from './app.process.js';

/** The servers that the apps work on. */
export interface Backends {
  /** As the owner of the database. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** What the programs of one run share. */
export interface ProgramOptions extends Backends {
  /** Whether each service has a database role of its own; else all use the owner. */
  readonly canCreateRoles: boolean;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** Under which URL it is reached: also the name of the issuer of people's tokens. */
  readonly baseUrl: string;
  /** Set where clients know it by one URL alone; else its links are of the host that each one asked. */
  readonly publicUrl: string | undefined;
  readonly replicas: number;
  readonly logLevel: string;
  readonly say: (line: string) => void;
}

/** Where the keys of people's accounts are, below the data directory. */
export const accountKeys = join('keys', 'account');

/** The apps with a role of their own in the database. */
const services = [
  { app: 'subscription', role: 'subscription' },
  { app: 'episode', role: 'episode' },
  { app: 'deletion-worker', role: 'deletion' },
] as const;

/**
 * Every program of a run with its configuration.
 *
 * @param folder where the programs are.
 */
export function appPrograms(
  options: ProgramOptions,
  folder: string,
): { migrate: AppProgram; services: AppProgram[]; firstLink: AppProgram; edge: AppProgram } {
  const { data, postgresUrl, redisUrl, replicas } = options;
  const program = (app: string, name: string, environment: Record<string, string>, args?: string[]): AppProgram => ({
    name,
    script: join(folder, `${app}.js`),
    ...(args && { args }),
    environment: { LOG_LEVEL: options.logLevel, ...environment },
    log: new AppLog(name, join(data, 'logs', `${name}.log`), options.say),
  });
  const urls = services.map(({ role }) => roleUrl(options, role));
  const dumpUrl = roleUrl(options, 'dump');
  // By what the commands of operators find this run (`--data`).
  writePrivateFile(join(data, 'deletions-database-url'), `${roleUrl(options, 'deletion')}\n`);
  writePrivateFile(join(data, 'dump-database-url'), `${dumpUrl}\n`);
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
        ...Object.fromEntries(services.map(({ role }, i) => [`${role.toUpperCase()}_DATABASE_URL`, urls[i] ?? ''])),
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
        }),
      ),
    ),
    firstLink: program('podcast-sync', 'accounts', account, ['accounts', 'first-link']),
    edge: program('edge', 'edge', { ...account, ...edgeEnvironment(options) }),
  };
}

/** What the edge gets in addition to the account app's variables. */
function edgeEnvironment({ publicUrl, host, port, data }: ProgramOptions): Record<string, string> {
  return {
    HOST: host,
    PORT: String(port),
    // The account app's alone, where links are as each request was addressed.
    PUBLIC_URL: publicUrl ?? '',
    // Signs the cookies of sessions, which outlive restarts.
    SESSION_KEY: secretFile(join(data, 'passwords', 'session-key')),
  };
}

/** What the account app and its commands are given. */
function accountEnvironment(options: ProgramOptions): Record<string, string> {
  const { baseUrl, data, redisUrl } = options;
  return {
    DATABASE_URL: roleUrl(options, 'account'),
    REDIS_URL: redisUrl,
    PUBLIC_URL: baseUrl,
    KEYS_DIRECTORY: join(data, accountKeys),
    SECRETS_KEY: secretFile(join(data, 'passwords', 'secrets-key')),
  };
}

/** The database as one of its roles, with a password made once; as its owner where there are no roles. */
function roleUrl({ postgresUrl, canCreateRoles, data }: ProgramOptions, role: string): string {
  if (!canCreateRoles) return postgresUrl;
  const password = secretFile(join(data, 'passwords', role));
  return Object.assign(new URL(postgresUrl), { username: `podcast_sync_${role}`, password }).href;
}
