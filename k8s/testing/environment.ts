import { readFileSync } from 'node:fs';
import { ConfigurationError, loadConfig } from '#runtime';
import { z } from 'zod';
import { accountConfig } from '../../apps/account/src/account.config.js';
import { deletionWorkerConfig } from '../../apps/deletion-worker/src/deletion-worker.config.js';
import { dumpConfig } from '../../apps/dump/src/dump-options.js';
import { appConfigs, edgeConfig } from '../../apps/edge/src/edge.config.js';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { feedConfig } from '../../apps/feed/src/feed.config.js';
import { gatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { gpodderConfig } from '../../apps/gpodder/src/gpodder.config.js';
import { loadProgramConfig } from '../../apps/load/src/load-options.js';
import { migrateConfig } from '../../apps/migrate/src/migrate.config.js';
import { subscriptionConfig } from '../../apps/subscription/src/subscription.config.js';

/** The configuration schema of each app. */
const configByApp: Record<string, z.ZodObject> = {
  edge: z.object({
    ...gatewayConfig.shape,
    ...gpodderConfig.shape,
    ...accountConfig.shape,
    ...edgeConfig.shape,
  }),
  gateway: gatewayConfig,
  gpodder: gpodderConfig,
  subscription: subscriptionConfig,
  episode: episodeConfig,
  'deletion-worker': deletionWorkerConfig,
  account: accountConfig,
  feed: feedConfig,
  load: loadProgramConfig,
  migrate: migrateConfig,
  dump: dumpConfig,
};

/** Matches variables of libraries and of Node, which no configuration schema lists. */
const foreignVariables = /^OTEL_|^(NODE_OPTIONS|TMPDIR)$/;

/** Returns true if a container runs an app of this project. */
export function isApp({ name }: { readonly name: string }): boolean {
  return name in configByApp;
}

/** Returns the variables that every image sets: the `ENV` lines of apps/Dockerfile. */
export function imageEnvironment(): Record<string, string> {
  const dockerfile = readFileSync(new URL('../../apps/Dockerfile', import.meta.url), 'utf8');
  const pairs = [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) =>
    line.split(' '),
  );
  return Object.fromEntries(
    pairs.map((pair) => /^(\w+)=(.*)$/.exec(pair)?.slice(1) as [string, string]),
  );
}

/**
 * Returns problems of the variables of an app: variables that its configuration does not have,
 * missing variables and invalid values.
 *
 * @param folder the folder with the app's files, mounted at `mount`.
 */
export function variableProblems(
  app: string,
  given: Readonly<Record<string, string>>,
  { folder, mount }: { folder: string; mount: string },
): string[] {
  const config = configByApp[app];
  if (!config) return [`${app}: is no app of this project`];
  const known = (name: string) =>
    name in config.shape || name.replace(/_FILE$/, '') in config.shape;
  const unknown = Object.keys(given).filter((name) => !known(name) && !foreignVariables.test(name));
  const here = (value: string) => value.replaceAll(mount, folder);
  const environment = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, here(value)]),
  );
  return [
    ...unknown.map((name) => `${app}: does not know the variable ${name}`),
    ...startProblems(app, { ...imageEnvironment(), ...environment }).map(
      (problem) => `${app}: ${problem}`,
    ),
  ];
}

function startProblems(app: string, environment: Record<string, string>): readonly string[] {
  try {
    if (app === 'edge') appConfigs(loadConfig(edgeConfig, environment), environment);
    else loadConfig(configByApp[app]!, environment);
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems;
  }
}
