import { services as allServices } from '#contracts';
import {
  type Connections,
  createHttpAdapter,
  type HttpApp,
  openConnections,
  serveHttp,
  Services,
} from '#http';
import type { Log, RunningProcess } from '#runtime';
import { GpodderAuthenticator } from './auth/authenticator.js';
import { GpodderSessions } from './auth/sessions.js';
import type { GpodderConfig } from './gpodder.config.js';
import { GpodderModule } from './gpodder.module.js';
import { serverOptions } from './http/server-options.js';

/**
 * Starts the gpodder API and serves until it is stopped. Without Redis it answers 503. It becomes
 * ready with its first connection to Redis and then stays ready, because without Redis all
 * replicas fail.
 */
export async function serve(config: GpodderConfig, log: Log): Promise<RunningProcess> {
  const optionalServices = config.FEEDS === 'off' ? [] : (['feed'] as const);
  const calledServices = [
    ...allServices.filter((service) => service !== 'deletion'),
    ...optionalServices,
  ];
  const connections = openConnections(config, log, calledServices);
  return serveHttp(await compose(config, log, connections), { config, log, connections });
}

/** Creates the gpodder app, which {@link serveHttp} then starts. */
export async function compose(
  config: GpodderConfig,
  log: Log,
  connections: Connections,
): Promise<HttpApp> {
  const { client, revocations, appPasswords, limits, missingConnections } = connections;
  const sessions = new GpodderSessions(client, revocations);
  const services = new Services(client, config);
  const { limiter } = services;
  const authenticator = new GpodderAuthenticator(appPasswords, sessions, config.SESSION_KEY);
  const adapter = await createHttpAdapter(
    serverOptions(config, { authenticator, limits, limiter }, log),
  );
  const module = GpodderModule.forRoot({ config, log, services, sessions });
  return {
    module,
    adapter,
    configure: async () => ({ missing: missingConnections, close: async () => {} }),
  };
}
