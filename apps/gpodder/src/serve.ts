import { services } from '#contracts';
import {
  type BegunApp,
  createHttpAdapter,
  HeldBytes,
  type HttpApp,
  RateLimits,
  serveHttp,
  waitingPerUser,
  watchHeldBytes,
} from '#http';
import { AppPasswords, Revocations } from '#identity';
import { connectRedis } from '#redis';
import type { Log, Running } from '#runtime';
import { StreamClient, traceCalls, watchClient } from '#transport';
import { Authenticator } from './auth/authenticator.js';
import { FailedLogins } from './auth/failed.logins.js';
import { Sessions } from './auth/sessions.js';
import type { GpodderConfig } from './gpodder.config.js';
import { GpodderModule } from './gpodder.module.js';
import { Admission, type Checks } from './http/admission.js';
import { Routes } from './http/routes.js';
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
  return serveHttp(await compose(config, log), { config, log });
}

/** Makes the parts of a gpodder API. */
export async function compose(config: GpodderConfig, log: Log): Promise<HttpApp> {
  const connect = () => connectRedis(config);
  const watched = services.filter((service) => service !== 'deletion');
  const client = new StreamClient({ connect, log, services: watched, maxInFlight: config.MAX_CALLS });
  traceCalls(client);
  const revocations = new Revocations(config, log);
  let hasConnected = false;
  // Rejects only when the client is closed first.
  const connected = client.connect().then(
    () => void (hasConnected = true),
    () => {},
  );
  const sessions = new Sessions(client, revocations);
  const appPasswords = new AppPasswords(client, revocations);
  const limits = new RateLimits(config, log);
  const held = new HeldBytes(config.MAX_HELD_BYTES, requestsPerUser(config));
  const authenticator = new Authenticator(appPasswords, sessions, new FailedLogins(), config.SESSION_KEY);
  const checks: Checks = { authenticator, limits, held };
  const adapter = await createHttpAdapter(serverOptions(config, new Admission(config, checks, log), log));
  checks.routes = new Routes(adapter.getInstance());
  const module = GpodderModule.of({ config, log, client, sessions });
  const begin = async (): Promise<BegunApp> => {
    watchClient(() => client.counters);
    watchHeldBytes(() => held.held);
    return {
      opened: Promise.all([connected, limits.opened(), revocations.opened()]),
      missing: () => (hasConnected ? [] : ['Redis: not reached yet']),
      close: async () => {
        await Promise.all([client.close(), revocations.close()]);
        limits.close();
      },
    };
  };
  return { module, adapter, begin };
}
