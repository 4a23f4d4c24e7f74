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
  readonly replicas: number;
  readonly logLevel: string;
  readonly keySetFile: string;
  readonly say: (line: string) => void;
}

/** The services behind the gateway, and the role that each has in the database. */
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
): { migrate: AppProgram; services: AppProgram[]; gateway: AppProgram } {
  const { data, postgresUrl, redisUrl, replicas } = options;
  const program = (app: string, name: string, environment: Record<string, string>): AppProgram => ({
    name,
    script: join(folder, `${app}.js`),
    environment: { LOG_LEVEL: options.logLevel, ...environment },
    log: new AppLog(name, join(data, 'logs', `${name}.log`), options.say),
  });
  const urls = services.map(({ role }) => roleUrl(postgresUrl, role, data));
  // Where `npm run deletions` finds the database of this run.
  writePrivateFile(join(data, 'deletions-database-url'), `${roleUrl(postgresUrl, 'deletion', data)}\n`);
  return {
    migrate: program('migrate', 'migrate', {
      DATABASE_URL: postgresUrl,
      ...Object.fromEntries(services.map(({ role }, i) => [`${role.toUpperCase()}_DATABASE_URL`, urls[i] ?? ''])),
    }),
    services: services.flatMap(({ app }, i) =>
      Array.from({ length: replicas }, (_, replica) =>
        program(app, replicas === 1 ? app : `${app}-${replica + 1}`, {
          DATABASE_URL: urls[i] ?? '',
          REDIS_URL: redisUrl,
        }),
      ),
    ),
    gateway: program('gateway', 'gateway', {
      REDIS_URL: redisUrl,
      HOST: options.host,
      PORT: String(options.port),
      AUTH_ISSUER: TokenIssuer.issuer,
      AUTH_AUDIENCE: TokenIssuer.audience,
      AUTH_JWKS_FILE: options.keySetFile,
    }),
  };
}

/** The database as one of its roles, with a password made once. */
function roleUrl(ownerUrl: string, role: string, data: string): string {
  const password = secretFile(join(data, 'passwords', role));
  return Object.assign(new URL(ownerUrl), { username: `podcast_sync_${role}`, password }).href;
}
