import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, loadConfig } from '#runtime';
import type { V1Container } from '@kubernetes/client-node';
import type { z } from 'zod';
import { accountConfig } from '../../apps/account/src/account.config.js';
import { deletionWorkerConfig } from '../../apps/deletion-worker/src/deletion-worker.config.js';
import { dumpConfig } from '../../apps/dump/src/dump.config.js';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { gatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { gpodderConfig } from '../../apps/gpodder/src/gpodder.config.js';
import { loadProgramConfig } from '../../apps/load/src/load.config.js';
import { migrateConfig } from '../../apps/migrate/src/migrate.config.js';
import { subscriptionConfig } from '../../apps/subscription/src/subscription.config.js';
import { type Manifest, ofKind, title, workloads } from './overlay.js';

/** What each app reads from its environment. */
const configs: Record<string, z.ZodObject> = {
  gateway: gatewayConfig,
  gpodder: gpodderConfig,
  subscription: subscriptionConfig,
  episode: episodeConfig,
  'deletion-worker': deletionWorkerConfig,
  account: accountConfig,
  load: loadProgramConfig,
  migrate: migrateConfig,
  dump: dumpConfig,
};

/** Variables of libraries and of Node, which no config lists. */
const foreign = /^OTEL_|^NODE_OPTIONS$/;

/** Whether a container runs an app of this project. */
export function isApp({ name }: V1Container): boolean {
  return name in configs;
}

/** What every image of this project sets by itself: the `ENV` lines of apps/Dockerfile. */
export function imageEnvironment(): Record<string, string> {
  const dockerfile = readFileSync(new URL('../../apps/Dockerfile', import.meta.url), 'utf8');
  const pairs = [...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => /^(\w+)=(.*)$/.exec(pair)?.slice(1) as [string, string]));
}

/**
 * Every variable that an app is given is one that it knows, and with all of them together it would start: what it
 * requires is there and every value can be used.
 *
 * @param secrets the folder with the files of each part, which are mounted at `mount`.
 */
export function variableProblems(
  app: string,
  given: Readonly<Record<string, string>>,
  { secrets, mount }: { secrets: string; mount: string },
): string[] {
  const config = configs[app];
  if (!config) return [`${app}: is no app of this project`];
  const known = (name: string) => name in config.shape || name.replace(/_FILE$/, '') in config.shape;
  const unknown = Object.keys(given).filter((name) => !known(name) && !foreign.test(name));
  const here = (value: string) => value.replaceAll(mount, join(secrets, app));
  const environment = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, here(value)]));
  return [
    ...unknown.map((name) => `${app}: does not know the variable ${name}`),
    ...startProblems(config, { ...imageEnvironment(), ...environment }).map((problem) => `${app}: ${problem}`),
  ];
}

function startProblems(config: z.ZodObject, environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(config, environment);
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems;
  }
}

/** The variables of all apps of an overlay; see {@link variableProblems}. */
export function environmentProblems(manifests: readonly Manifest[], secrets: string): string[] {
  return workloads(manifests)
    .flatMap((workload) => workload.spec.template.spec?.containers ?? [])
    .filter(isApp)
    .flatMap((container) => {
      const given = containerEnvironment(container, manifests);
      return [
        ...variableProblems(container.name, given, { secrets, mount: '/run/secrets/podcast-sync' }),
        ...portProblems(container, { ...imageEnvironment(), ...given }),
      ];
    });
}

/** Behind an Ingress all clients have its address, unless an app believes it about theirs. */
export function addressProblems(manifests: readonly Manifest[]): string[] {
  if (ofKind(manifests, 'Ingress').length === 0) return [];
  return workloads(manifests).flatMap((workload) =>
    (workload.spec.template.spec?.containers ?? [])
      .map((container) => [container.name, containerEnvironment(container, manifests)] as const)
      // These always have some.
      .filter(
        ([app, given]) =>
          (['account', 'gpodder'].includes(app) || given.RATE_LIMIT_PER_ADDRESS) && !given.TRUSTED_PROXIES,
      )
      .map(() => `${title(workload)}: has a limit for addresses behind an Ingress without TRUSTED_PROXIES`),
  );
}

/** What a container is given, ConfigMaps included. */
export function containerEnvironment(container: V1Container, manifests: readonly Manifest[]): Record<string, string> {
  const maps = ofKind<{ data?: Record<string, string> }>(manifests, 'ConfigMap');
  const shared = (container.envFrom ?? []).map(
    ({ configMapRef }) => maps.find(({ metadata }) => metadata.name === configMapRef?.name)?.data,
  );
  const own = (container.env ?? []).map(({ name, value = '' }) => [name, value]);
  return Object.assign({}, ...shared, Object.fromEntries(own)) as Record<string, string>;
}

/** The ports that a container names are those that its app listens on. */
function portProblems({ name: app, ports = [] }: V1Container, environment: Record<string, string>): string[] {
  const listening: Record<string, string | undefined> = { http: environment.PORT, ops: environment.OPS_PORT };
  return ports
    .filter(({ name = '', containerPort }) => listening[name] !== String(containerPort))
    .map(
      ({ name = '', containerPort }) => `${app}: listens for ${name} on ${listening[name]}, not on ${containerPort}`,
    );
}
