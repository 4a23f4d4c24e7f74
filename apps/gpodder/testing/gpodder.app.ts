import { createLog, loadConfig } from '#runtime';
import type { Fixture, HttpApp } from '#testing';
import { gpodderConfig } from '../src/gpodder.config.js';
import { compose } from '../src/serve.js';

/** Runs a gpodder API in this process, until it is stopped or the fixture is closed. */
export async function startGpodder(fixture: Fixture, variables: Readonly<Record<string, string>>): Promise<HttpApp> {
  const log = createLog('gpodder', 'silent');
  return fixture.httpApp(() => compose(loadConfig(gpodderConfig, { PORT: '0', ...variables }), log));
}
