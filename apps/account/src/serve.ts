import { services } from '#contracts';
import {
  type Connections,
  createHttpAdapter,
  type HttpApp,
  openConnections,
  type RunningApp,
  serveHttp,
} from '#http';
import { RevocationWriter } from '#identity';
import { connectRedis } from '#redis';
import { registerCounterByLabel, type Log, type RunningProcess, type WaitFor } from '#runtime';
import { openReplica, waitForDatabase } from '#transport/service';
import { registerSignInMetrics } from './account.metrics.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AccountConfig, AccountSettings } from './account.config.js';
import { AccountModule } from './account.module.js';
import { serveConsole } from './console/console-files.js';
import { serverOptions } from './http/server-options.js';
import { Issuer } from './issuer/issuer.js';
import { PageFailureFilter } from './pages/failure.filter.js';
import { Passwords } from './people/passwords.js';
import { Sessions } from './people/sessions.js';
import { SignIn } from './people/sign-in.js';

/** Timeout of a Redis command in milliseconds, after which the caller continues without Redis. */
const redisTimeoutMs = 250;

/**
 * Starts the account app: an HTTP server for pages and issuer, and a replica of the service
 * `account`. The start waits for Postgres and its migrations. A later outage of Postgres does not
 * end the process; pages then show an error.
 */
export async function serve(
  config: AccountSettings,
  log: Log,
  waitFor: WaitFor,
): Promise<RunningProcess> {
  const connections = openConnections(config, log, services);
  return serveHttp(await compose(config, log, connections, waitFor), { config, log, connections });
}

/** Waits for the database, then returns the app's module, HTTP adapter and start function. */
export async function compose(
  config: AccountSettings,
  log: Log,
  { client, limits }: Connections,
  waitFor: WaitFor,
): Promise<HttpApp> {
  const database = await waitForDatabase('account', config, log, waitFor);
  const redis = connectRedis(config, { commandTimeout: redisTimeoutMs });
  // Without this listener, a lost connection ends the process. Callers handle failed commands.
  redis.on('error', () => {});
  // With SIGN_IN_ISSUER, people register at their OpenID provider and not here.
  const registrationOverride =
    config.SIGN_IN_ISSUER === undefined ? {} : { REGISTRATION: 'closed' as const };
  const { API_URLS = [config.PUBLIC_URL] } = config;
  const appConfig = { ...config, API_URLS, ...registrationOverride } as AccountConfig;
  const module = AccountModule.forRoot({ config: appConfig, log, database, client, redis });
  // `startApp` assigns issuer and sessions before the first request.
  let issuer: Issuer | undefined;
  let sessions: Sessions | undefined;
  const adapter = await createHttpAdapter(
    serverOptions(appConfig, log, limits, {
      issuer: (request) => issuer?.handlerFor(request),
      session: async (cookie) => sessions?.findAndRecordUse(cookie),
    }),
  );
  await serveConsole(adapter.getInstance());
  const startApp = async (nest: NestFastifyApplication): Promise<RunningApp> => {
    nest.useGlobalFilters(new PageFailureFilter(log));
    issuer = nest.get(Issuer);
    sessions = nest.get(Sessions);
    const strategy = openReplica('account', config, database, log);
    registerPeopleMetrics(nest);
    nest.connectMicroservice({ strategy });
    await nest.startAllMicroservices();
    return {
      close: async () => {
        database.availability.close();
        redis.disconnect();
      },
    };
  };
  return { module, adapter, configure: startApp };
}

/** Registers the metrics of sign-ins and revocations. */
function registerPeopleMetrics(nest: NestFastifyApplication): void {
  const [signIn, passwords, revocationWriter] = [
    nest.get(SignIn),
    nest.get(Passwords),
    nest.get(RevocationWriter),
  ];
  registerSignInMetrics(() => ({ outcomes: signIn.outcomes, waiting: passwords.waitingCount }));
  registerCounterByLabel(
    'podcast_sync_revocations_total',
    'Revocations by kind: `user`, `grant`, `session`, `credential`, `gpodder_session`; ' +
      '`unannounced`: Redis was unavailable.',
    'kind',
    () => revocationWriter.counts,
  );
}
