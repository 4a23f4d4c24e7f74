import type { IncomingMessage } from 'node:http';
import { services } from '#contracts';
import { type AppName, appOfPath, type HttpApp, openConnections, serveApps } from '#http';
import type { Log, RunningProcess, WaitFor } from '#runtime';
import { compose as composeAccount } from '../../account/src/serve.js';
import { compose as composeGateway, feedService } from '../../gateway/src/serve.js';
import { compose as composeGpodder } from '../../gpodder/src/serve.js';
import { appConfigs, type EdgeConfig } from './edge.config.js';

/**
 * Serves the gateway, the gpodder API and the account app on one port, as separate Nest
 * applications. Requests are routed by path, after only the head is read. For paths of no served
 * app, the account app answers browsers with a page, and the gateway answers all other clients.
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
  const feeds = configs.gateway ?? configs.gpodder;
  const optional = feeds ? feedService(feeds) : [];
  const connections = openConnections(config, log, [...services, ...optional]);
  const apps = new Map<AppName, HttpApp>();
  if (configs.account)
    apps.set('account', await composeAccount(configs.account, log, connections, waitFor));
  if (configs.gateway) apps.set('gateway', await composeGateway(configs.gateway, log, connections));
  if (configs.gpodder) apps.set('gpodder', await composeGpodder(configs.gpodder, log, connections));
  const [first] = [...apps.values()] as [HttpApp];
  const refusing = ({ headers }: IncomingMessage) =>
    (/\btext\/html\b/.test(headers.accept ?? '') ? apps.get('account') : apps.get('gateway')) ??
    first;
  const appOf = (path: string, request: IncomingMessage) => {
    const app = appOfPath(path);
    return (app && apps.get(app)) ?? refusing(request);
  };
  return serveApps([...apps.values()], appOf, {
    config,
    log,
    connections,
    maxStreams: configs.gateway?.MAX_STREAMS ?? 0,
  });
}
