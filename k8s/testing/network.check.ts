import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container, V1NetworkPolicy, V1Service } from '@kubernetes/client-node';
import { containerEnvironment } from './environment.check.js';
import { type Manifest, ofKind, selects, title, type Workload, workloads } from './overlay.js';

const defaultPorts: Record<string, number> = {
  'http:': 80,
  'https:': 443,
  'postgres:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
};

type Direction = 'ingress' | 'egress';

/**
 * Network policies let out what leads to every server that a pod's variables name, and in what a Service of it offers.
 * Where no policy selects a pod, everything is let through.
 *
 * @param secrets the folder with the files of each part, which pods mount.
 */
export function networkProblems(manifests: readonly Manifest[], secrets: string): string[] {
  const services = ofKind<V1Service>(manifests, 'Service');
  return workloads(manifests).flatMap((workload) => {
    const containers = workload.spec.template.spec?.containers ?? [];
    const out = containers.flatMap((container) => serversOf(container, manifests, secrets));
    const offered = services
      .filter(({ spec }) => selects({ matchLabels: spec?.selector }, labelsOf(workload)))
      .flatMap(({ spec }) => (spec?.ports ?? []).map(({ targetPort }) => targetPort ?? ''));
    return [
      ...out
        .filter(({ port }) => !allows(manifests, workload, 'egress', port))
        .map(({ name, port }) => `is not let out to the port ${port} of ${name}`),
      ...[...new Set(offered)]
        .filter((port) => !allows(manifests, workload, 'ingress', port))
        .map((port) => `lets nobody in to its port ${port}`),
    ].map((problem) => `${title(workload)}: ${problem}`);
  });
}

const labelsOf = (workload: Workload) => workload.spec.template.metadata?.labels ?? {};

/** The servers that variables name by URL or as `host:port,…` of a Redis, read from their files where they are secrets. */
function serversOf(container: V1Container, manifests: readonly Manifest[], secrets: string) {
  // Users' links and the names of issuers are no servers to call.
  const others = /^(PUBLIC_URL|API_URLS|AUTH_ISSUER|AUTH_SERVERS)$/;
  return Object.entries(containerEnvironment(container, manifests))
    .filter(([name]) => !others.test(name))
    .map(([name, value]) => {
      const isFile = name.endsWith('_FILE') && value.startsWith('/run/secrets/');
      return [name, isFile ? secret(join(secrets, container.name, value.split('/').at(-1) ?? '')) : value] as const;
    })
    .flatMap(([name, value]) => {
      const listed = /REDIS_(CLUSTER|SENTINELS)$/.test(name)
        ? value.split(',').map((address) => `redis://${address}`)
        : value.split(',').map((part) => part.slice(part.lastIndexOf('=http') + 1));
      return listed
        .filter((url) => /^[a-z]+:\/\//.test(url))
        .map((url) => {
          const { protocol, port } = new URL(url);
          return { name, port: Number(port) || defaultPorts[protocol] || 0 };
        });
    });
}

/** The content of a secret's file; that it is there is checked elsewhere. */
function secret(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function allows(
  manifests: readonly Manifest[],
  workload: Workload,
  direction: Direction,
  port: number | string,
): boolean {
  const type = direction === 'egress' ? 'Egress' : 'Ingress';
  const policies = ofKind<V1NetworkPolicy>(manifests, 'NetworkPolicy').filter(
    ({ spec }) => spec?.policyTypes?.includes(type) && selects(spec.podSelector, labelsOf(workload)),
  );
  if (policies.length === 0) return true;
  const rules = policies.flatMap(({ spec }) => spec?.[direction] ?? []);
  return rules.some(({ ports }) => !ports || ports.some((allowed) => String(allowed.port) === String(port)));
}
