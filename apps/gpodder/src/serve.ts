import { services } from '#contracts';
import {
  type BegunApp,
  type Connections,
  createHttpAdapter,
  HeldBytes,
  type HttpApp,
  openConnections,
  RouteTable,
  serveHttp,
  waitingPerUser,
  watchHeldBytes,
} from '#http';
import type { Log, Running } from '#runtime';
import { Authenticator } from './auth/authenticator.js';
import { FailedLogins } from './auth/failed.logins.js';
import { Sessions } from './auth/sessions.js';
import type { GpodderConfig } from './gpodder.config.js';
import { GpodderModule } from './gpodder.module.js';
import { Admission, type Checks } from './http/admission.js';
import { serverOptions } from './http/server.options.js';

/** How many requests of one user may run and wait, downloads and uploads together. */
function requestsPerUser(config: GpodderConfig): number {
  return config.MAX_READS_PER_USER + config.MAX_WRITES_PER_USER + 2 * waitingPerUser;
}

/**
 * Starts the gpodder API. It serves until it is stopped; without Redis it answers 503 to everybody. It is unready until it
 * has reached Redis once, and ready from then on: whatever is away, no other replica could do better than answer 503.
 */
export async function serve(config: GpodderConfig, log: Log): Promise<Running> {
  const called = services.filter((service) => service !== 'deletion');
  const connections = openConnections(config, log, called);
  return serveHttp(await compose(config, log, connections), { config, log, connections });
}

/** Makes the parts of a gpodder API. */
export async function compose(config: GpodderConfig, log: Log, connections: Connections): Promise<HttpApp> {
  const { client, revocations, appPasswords, limits, missing } = connections;
  const sessions = new Sessions(client, revocations);
  const held = new HeldBytes(config.MAX_HELD_BYTES, requestsPerUser(config));
  const authenticator = new Authenticator(appPasswords, sessions, new FailedLogins(), config.SESSION_KEY);
  const checks: Checks = { authenticator, limits, held };
  const adapter = await createHttpAdapter(serverOptions(config, new Admission(config, checks, log), log));
  checks.routes = new RouteTable(adapter.getInstance());
  const begin = async (): Promise<BegunApp> => {
    watchHeldBytes(() => held.held);
    return { missing, close: async () => {} };
  };
  return { module: GpodderModule.of({ config, log, client, sessions }), adapter, begin };
}
