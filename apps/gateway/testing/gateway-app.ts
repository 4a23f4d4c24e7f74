import { services } from '#contracts';
import { openConnections, type HttpTimeouts } from '#http';
import { createLog, loadConfig, type Log } from '#runtime';
import type { Fixture, ServedApp } from '#testing';
import type { StreamBounds } from '../src/changes/change-streams.js';
import { gatewayConfig } from '../src/gateway.config.js';
import { compose } from '../src/serve.js';

/** Settings of a gateway that differ from production. */
interface TestOptions {
  readonly timeouts?: HttpTimeouts;
  readonly streams?: StreamBounds;
  readonly log?: Log;
}

/** Runs a gateway in this process, until it is stopped or the fixture is closed. */
export async function startGateway(
  fixture: Fixture,
  variables: Readonly<Record<string, string>>,
  { timeouts, streams, log = createLog('gateway', 'silent') }: TestOptions = {},
): Promise<ServedApp> {
  const config = loadConfig(gatewayConfig, { PORT: '0', ...variables });
  return fixture.httpApp(async () => {
    const connections = openConnections(config, log, services);
    const options = { config, log, connections, maxStreams: config.MAX_STREAMS, timeouts };
    return [await compose(config, log, connections, streams), options];
  });
}
