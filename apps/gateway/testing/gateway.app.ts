import { createLog, loadConfig, type Log } from '#runtime';
import type { Fixture, HttpApp } from '#testing';
import { gatewayConfig } from '../src/gateway.config.js';
import { compose } from '../src/serve.js';

type Pace = Parameters<typeof compose>[2];

/** Runs a gateway in this process, until it is stopped or the fixture is closed. */
export async function startGateway(
  fixture: Fixture,
  variables: Readonly<Record<string, string>>,
  { pace, log = createLog('gateway', 'silent') }: { pace?: Pace; log?: Log } = {},
): Promise<HttpApp> {
  return fixture.httpApp(() => compose(loadConfig(gatewayConfig, { PORT: '0', ...variables }), log, pace));
}
