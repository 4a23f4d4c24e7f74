import { services } from '#contracts';
import { type AppName, appOfPath, type HttpApp, openConnections, serveApps } from '#http';
import type { Log, Running, WaitFor } from '#runtime';
import { compose as composeAccount } from '../../account/src/serve.js';
import { compose as composeGateway } from '../../gateway/src/serve.js';
import { compose as composeGpodder } from '../../gpodder/src/serve.js';
import { appConfigs, type EdgeConfig } from './edge.config.js';

/**
 * Serves the gateway, the gpodder API and the account app on one port, each a Nest application of its own. A request
 * goes to its app by its path, before anything of it is parsed; a path of an app that is not served is the first one's,
 * which has no such path.
 *
 * @throws ConfigurationError with the problems of all apps at once.
 */
export async function serve(
  config: EdgeConfig,
  log: Log,
  waitFor: WaitFor,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Running> {
  const configs = appConfigs(config, environment);
  const connections = openConnections(config, log, services);
  const apps = new Map<AppName, HttpApp>();
  if (configs.account) apps.set('account', await composeAccount(configs.account, log, connections, waitFor));
  if (configs.gateway) apps.set('gateway', await composeGateway(configs.gateway, log, connections));
  if (configs.gpodder) apps.set('gpodder', await composeGpodder(configs.gpodder, log, connections));
  const [first] = [...apps.values()] as [HttpApp];
  return serveApps([...apps.values()], (path) => apps.get(appOfPath(path)) ?? first, {
    config,
    log,
    connections,
    maxStreams: configs.gateway?.MAX_STREAMS ?? 0,
  });
}
