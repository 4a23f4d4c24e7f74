import { join } from 'node:path';
import { secretFile, TokenIssuer, writePrivateFile } from '#embedded';
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
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly accountPort: number;
  readonly gpodderPort: number;
  /** Under which URLs both are reached: the base of their links, and the name of the issuer of people's tokens. */
  readonly baseUrl: string;
  readonly accountUrl: string;
  /** Set where clients know the gateway by one URL alone; else its links are of the host that each one asked. */
  readonly publicUrl: string | undefined;
  /** The same of the facade for gpodder's clients. */
  readonly gpodderUrl: string | undefined;
  readonly replicas: number;
  readonly logLevel: string;
  readonly keySets: KeySets;
  readonly say: (line: string) => void;
}

/** The files of the key sets that prove tokens: of the command line, and of people's accounts. */
export interface KeySets {
  readonly commandLine: string;
  readonly account: string;
}

/** Where the keys of people's accounts are, below the data directory. */
export const accountKeys = join('keys', 'account');

/** The apps with a role of their own in the database. */
const services = [
  { app: 'subscription', role: 'subscription' },
  { app: 'episode', role: 'episode' },
  { app: 'deletion-worker', role: 'deletion' },
  { app: 'account', role: 'account' },
] as const;

/**
 * Every program of a run with its configuration.
 *
 * @param folder where the programs are.
 */
export function appPrograms(
  options: ProgramOptions,
  folder: string,
): { migrate: AppProgram; services: AppProgram[]; firstLink: AppProgram; edges: AppProgram[] } {
  const { data, postgresUrl, redisUrl, replicas } = options;
  const program = (app: string, name: string, environment: Record<string, string>, args?: string[]): AppProgram => ({
    name,
    script: join(folder, `${app}.js`),
    ...(args && { args }),
    environment: { LOG_LEVEL: options.logLevel, ...environment },
    log: new AppLog(name, join(data, 'logs', `${name}.log`), options.say),
  });
  const urls = services.map(({ role }) => roleUrl(postgresUrl, role, data));
  const dumpUrl = roleUrl(postgresUrl, 'dump', data);
  // By what the commands of operators find this run (`--data`).
  writePrivateFile(join(data, 'deletions-database-url'), `${roleUrl(postgresUrl, 'deletion', data)}\n`);
  writePrivateFile(join(data, 'dump-database-url'), `${dumpUrl}\n`);
  writePrivateFile(join(data, 'redis-url'), `${redisUrl}\n`);
  writePrivateFile(join(data, 'account-database-url'), `${roleUrl(postgresUrl, 'account', data)}\n`);
  writePrivateFile(join(data, 'account-url'), `${options.accountUrl}\n`);
  const account = accountEnvironment(options);
  return {
    migrate: program(
      'podcast-sync',
      'migrate',
      {
        DATABASE_URL: postgresUrl,
        ...Object.fromEntries(services.map(({ role }, i) => [`${role.toUpperCase()}_DATABASE_URL`, urls[i] ?? ''])),
        DUMP_DATABASE_URL: dumpUrl,
      },
      ['migrate'],
    ),
    services: services.flatMap(({ app }, i) =>
      Array.from({ length: replicas }, (_, replica) =>
        program(app, replicas === 1 ? app : `${app}-${replica + 1}`, {
          DATABASE_URL: urls[i] ?? '',
          REDIS_URL: redisUrl,
          ...(app === 'account' && account(replica)),
        }),
      ),
    ),
    firstLink: {
      ...program('podcast-sync', 'accounts', {
        DATABASE_URL: roleUrl(postgresUrl, 'account', data),
        REDIS_URL: redisUrl,
        ...account(0),
      }),
      args: ['accounts', 'first-link'],
    },
    edges: [
      program('gateway', 'gateway', gatewayEnvironment(options)),
      program('gpodder', 'gpodder', gpodderEnvironment(options)),
    ],
  };
}

function gatewayEnvironment(options: ProgramOptions): Record<string, string> {
  return {
    REDIS_URL: options.redisUrl,
    HOST: options.host,
    PORT: String(options.port),
    ...(options.publicUrl && { PUBLIC_URL: options.publicUrl }),
    ...identity(options),
    AUTH_AUDIENCE: TokenIssuer.audience,
    AUTH_SERVERS: options.accountUrl,
    AUTH_APP_PASSWORDS: 'on',
    // The console's, and those that were asked for.
    CORS_ORIGINS: [new URL(options.accountUrl).origin, process.env.CORS_ORIGINS].filter(Boolean).join(','),
  };
}

/** The key signs the cookies of sessions, which outlive restarts. */
function gpodderEnvironment(options: ProgramOptions): Record<string, string> {
  return {
    REDIS_URL: options.redisUrl,
    HOST: options.host,
    PORT: String(options.gpodderPort),
    ...(options.gpodderUrl && { PUBLIC_URL: options.gpodderUrl }),
    SESSION_KEY: secretFile(join(options.data, 'passwords', 'session-key')),
  };
}

/** Whose tokens the gateway believes: those of the command line, and those of people's accounts. */
function identity({ accountUrl, keySets }: ProgramOptions): Record<string, string> {
  const issuers = `${TokenIssuer.issuer},${accountUrl}`;
  return {
    AUTH_ISSUER: issuers,
    AUTH_OWN_ISSUER: issuers,
    AUTH_JWKS_FILE: `${TokenIssuer.issuer}=${keySets.commandLine},${accountUrl}=${keySets.account}`,
  };
}

/**
 * What the account app is given besides its database. Every replica answers the other apps; browsers know one origin, and
 * so the port is the first one's. The others have one that nobody knows.
 */
function accountEnvironment(options: ProgramOptions): (replica: number) => Record<string, string> {
  const shared = {
    PUBLIC_URL: options.accountUrl,
    API_URLS: options.baseUrl,
    API_AUDIENCE: TokenIssuer.audience,
    KEYS_DIRECTORY: join(options.data, accountKeys),
    SECRETS_KEY: secretFile(join(options.data, 'passwords', 'secrets-key')),
  };
  return (replica) =>
    replica === 0
      ? { ...shared, HOST: options.host, PORT: String(options.accountPort) }
      : { ...shared, HOST: '127.0.0.1', PORT: '0' };
}

/** The database as one of its roles, with a password made once. */
function roleUrl(ownerUrl: string, role: string, data: string): string {
  const password = secretFile(join(data, 'passwords', role));
  return Object.assign(new URL(ownerUrl), { username: `podcast_sync_${role}`, password }).href;
}
