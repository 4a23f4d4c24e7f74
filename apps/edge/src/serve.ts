import type { IncomingMessage } from 'node:http';
import { services } from '#contracts';
import { type AppName, appOfPath, type HttpApp, openConnections, serveApps } from '#http';
import type { Log, RunningProcess, WaitFor } from '#runtime';
import { compose as composeAccount } from '../../account/src/serve.js';
import { compose as composeGateway, feedServices } from '../../gateway/src/serve.js';
import { compose as composeGpodder } from '../../gpodder/src/serve.js';
import { appConfigs, type EdgeConfig } from './edge.config.js';

/**
 * Serves the gateway, the gpodder API and the account app on one port, as separate Nest
 * applications. The path of a request selects the app. If no app has the path, the account app
 * answers browsers with a page, and the gateway answers all other clients.
 *
 * @throws ConfigurationError with the problems of all apps.
 */
export async function serve(
  config: EdgeConfig,
  log: Log,
  waitFor: WaitFor,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<RunningProcess> {
  const configs = appConfigs(config, environment);
  const calledServices = [...services, ...feedServices(configs.gateway)];
  const connections = openConnections(config, log, calledServices);
  const apps: Record<AppName, HttpApp> = {
    account: await composeAccount(configs.account, log, connections, waitFor),
    gateway: await composeGateway(configs.gateway, log, connections),
    gpodder: await composeGpodder(configs.gpodder, log, connections),
  };
  const selectApp = (path: string, { headers }: IncomingMessage) =>
    apps[appOfPath(path) ?? (/\btext\/html\b/.test(headers.accept ?? '') ? 'account' : 'gateway')];
  const maxStreams = configs.gateway.MAX_STREAMS;
  return serveApps(Object.values(apps), selectApp, { config, log, connections, maxStreams });
}
