import { services } from '#contracts';
import { openConnections } from '#http';
import { createLog, loadConfig } from '#runtime';
import type { Fixture, ServedApp } from '#testing';
import { accountConfig } from '../src/account.config.js';
import { compose } from '../src/serve.js';

/** Starts an account app in this process, which runs until the fixture is closed. */
export async function startAccount(
  fixture: Fixture,
  variables: Readonly<Record<string, string>>,
): Promise<ServedApp> {
  const [log, config] = [
    createLog('account', 'silent'),
    loadConfig(accountConfig, { PORT: '0', ...variables }),
  ];
  return fixture.httpApp(async () => {
    const connections = openConnections(config, log, services);
    return [await compose(config, log, connections, () => {}), { config, log, connections }];
  });
}
