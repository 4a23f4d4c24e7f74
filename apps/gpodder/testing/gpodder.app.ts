import { services } from '#contracts';
import { openConnections } from '#http';
import { createLog, loadConfig } from '#runtime';
import type { Fixture, ServedApp } from '#testing';
import { gpodderConfig } from '../src/gpodder.config.js';
import { compose } from '../src/serve.js';

/** Starts a gpodder API in this process. The fixture stops it at the latest when it closes. */
export async function startGpodder(
  fixture: Fixture,
  variables: Readonly<Record<string, string>>,
): Promise<ServedApp> {
  const [log, config] = [
    createLog('gpodder', 'silent'),
    loadConfig(gpodderConfig, { PORT: '0', ...variables }),
  ];
  return fixture.httpApp(async () => {
    const connections = openConnections(config, log, services);
    return [await compose(config, log, connections), { config, log, connections }];
  });
}
