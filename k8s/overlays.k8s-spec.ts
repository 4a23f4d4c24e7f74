import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayConfig } from '../apps/gateway/src/gateway.config.js';
import { makeContainerSecrets } from '../apps/standalone/src/container.secrets.js';
import { availabilityProblems } from './testing/availability.check.js';
import { connectionProblems } from './testing/connection.check.js';
import { addressProblems, containerEnvironment, environmentProblems } from './testing/environment.check.js';
import { memoryProblems } from './testing/memory.check.js';
import { networkProblems } from './testing/network.check.js';
import { type Manifest, overlays, render, title, workloads } from './testing/overlay.js';
import { referenceProblems } from './testing/reference.check.js';
import { schemaProblems } from './testing/schema.check.js';
import { securityProblems } from './testing/security.check.js';

/** What an operator adds to the secrets that the project makes, where the queue has a Redis of its own. */
const ofOperator = {
  'deletion-worker/QUEUE_REDIS_URL': 'rediss://queue.redis.example.org:6379',
  'deletion-worker/QUEUE_REDIS_PASSWORD': 'secret',
};

let secrets: string;
let secretKeys: ReadonlySet<string>;

beforeAll(async () => {
  secrets = mkdtempSync(join(tmpdir(), 'k8s-secrets-'));
  await makeContainerSecrets(secrets);
  for (const [file, value] of Object.entries(ofOperator)) {
    mkdirSync(dirname(join(secrets, file)), { recursive: true });
    writeFileSync(join(secrets, file), value);
  }
  secretKeys = new Set(
    readdirSync(secrets).flatMap((part) =>
      readdirSync(join(secrets, part)).map((key) => `podcast-sync-${part}/${key}`),
    ),
  );
});

afterAll(() => rmSync(secrets, { recursive: true, force: true }));

/** All that is wrong with the objects of an overlay. */
function problems(manifests: Manifest[]): string[] {
  return [
    ...schemaProblems(manifests),
    ...referenceProblems(manifests, secretKeys),
    ...environmentProblems(manifests, secrets),
    ...addressProblems(manifests),
    ...availabilityProblems(manifests),
    ...networkProblems(manifests, secrets),
    ...connectionProblems(manifests),
    ...securityProblems(manifests),
    ...memoryProblems(manifests),
  ];
}

describe('the overlays', () => {
  it.each(overlays)('%s renders, and nothing is wrong with it', (overlay) => {
    expect(problems(render(overlay))).toEqual([]);
  });

  it('production scales the deletion worker by its queue alone, and the others by their load', () => {
    const scalers = render('production').filter(({ kind }) => /Autoscaler|ScaledObject/.test(kind));
    expect(scalers.map(title).sort()).toEqual([
      'HorizontalPodAutoscaler/episode',
      'HorizontalPodAutoscaler/gateway',
      'HorizontalPodAutoscaler/subscription',
      'ScaledObject/deletion-worker',
    ]);
  });

  it('production limits what comes from one address before a credential is looked at, and what one user sends', () => {
    const given = gatewayEnvironment(render('production'));
    const { RATE_LIMIT_PER_ADDRESS: address, RATE_LIMIT_PER_USER: user, TRUSTED_PROXIES } = gatewayConfig.parse(given);
    expect([address?.quota, user?.quota, TRUSTED_PROXIES?.length]).toEqual([6_000, 1_200, 1]);
  });
});

/** What the gateway of an overlay is given. */
function gatewayEnvironment(manifests: Manifest[]): Record<string, string> {
  const [container] = workloads(manifests)
    .filter((workload) => title(workload) === 'Deployment/gateway')
    .flatMap((workload) => workload.spec.template.spec?.containers ?? []);
  return container ? containerEnvironment(container, manifests) : {};
}

/** Sets a field to a value, appends it to a list (`-`), or removes the field where the value is undefined. */
function spoil(manifests: Manifest[], object: string, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() as string;
  const found = manifests.find((manifest) => title(manifest) === object);
  const at = steps.reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], found);
  if (typeof at !== 'object' || at === null) throw new Error(`${object} has no ${steps.join('.')}`);
  if (last === '-') (at as unknown[]).push(value);
  else if (value === undefined) delete (at as Record<string, unknown>)[last];
  else (at as Record<string, unknown>)[last] = value;
}

const [gateway, episode, worker] = ['Deployment/gateway', 'Deployment/episode', 'Deployment/deletion-worker'];
const pod = 'spec.template.spec';
const container = `${pod}.containers.0`;
const variable = (name: string, value: string) => ({ name, value });

/** What is wrong, where, how, and what is said about it. */
type Mistake = [what: string, object: string, path: string, value: unknown, said: RegExp];

/** Mistakes, at least one of each kind that is looked for. */
const mistakes: Mistake[] = [
  [
    'a port as a string',
    gateway,
    `${container}.ports.0.containerPort`,
    '3000',
    /gateway: .*containerPort must be number/,
  ],
  ['a misspelled field', episode, `${pod}.serviceAcountName`, 'x', /serviceAcountName is no field/],
  ['a missing field', episode, 'spec.selector', undefined, /must have required property selector/],
  ['a field of no custom resource', 'ScaledObject/deletion-worker', 'spec.minReplicas', 2, /minReplicas is no field/],
  [
    'a number as a string',
    'ScaledObject/deletion-worker',
    'spec.maxReplicaCount',
    '9',
    /maxReplicaCount must be integer/,
  ],
  ['a field of no endpoint', 'ServiceMonitor/podcast-sync', 'spec.endpoints.0.prot', 'ops', /prot is no field/],
  ['a field of no rule', 'PrometheusRule/podcast-sync', 'spec.groups.0.rules.0.exp', '1', /exp is no field/],

  [
    'an unknown variable',
    episode,
    `${container}.env.-`,
    variable('POOL', '5'),
    /episode: does not know the variable POOL/,
  ],
  ['a missing variable', episode, `${container}.env`, [], /episode: DATABASE_URL: is required/],
  [
    'a value that is refused',
    episode,
    `${container}.env.-`,
    variable('MAX_IN_FLIGHT', 'many'),
    /episode: MAX_IN_FLIGHT: /,
  ],
  [
    'a file that is not there',
    episode,
    `${container}.env.1.value`,
    '/run/secrets/podcast-sync/X',
    /DATABASE_URL_FILE: ENOENT/,
  ],
  [
    'another port than the app has',
    gateway,
    `${container}.ports.1.containerPort`,
    9091,
    /listens for ops on 9090, not on 9091/,
  ],

  ['an unknown secret', episode, `${pod}.volumes.0.secret.secretName`, 'x', /mounts Secret\/x, which nobody makes/],
  [
    'a key of no secret',
    'TriggerAuthentication/deletion-queue',
    'spec.secretTargetRef.0.key',
    'X',
    /reads the secret .*\/X/,
  ],
  ['an unknown ConfigMap', episode, `${container}.envFrom.-`, { configMapRef: { name: 'x' } }, /names ConfigMap\/x/],
  ['an unknown account', episode, `${pod}.serviceAccountName`, 'x', /names ServiceAccount\/x/],
  ['an unknown volume', episode, `${container}.volumeMounts.0.name`, 'x', /mounts the volume x/],
  ['a probe of no port', episode, `${container}.livenessProbe.httpGet.port`, 'http', /probes the port http/],
  [
    'a Service without pods',
    'Service/gateway',
    'spec.selector',
    { app: 'gateway' },
    /Service\/gateway: selects no pod/,
  ],
  ['a Service to no port', 'Service/gateway', 'spec.ports.0.targetPort', 'web', /leads to the port web/],
  [
    'a policy without pods',
    'NetworkPolicy/podcast-sync-gateway',
    'spec.podSelector.matchLabels',
    { a: 'b' },
    /selects no pod/,
  ],
  [
    'a monitor of no Service',
    'ServiceMonitor/podcast-sync',
    'spec.selector.matchLabels',
    { a: 'b' },
    /selects no Service/,
  ],
  [
    'an Ingress to no port',
    'Ingress/gateway',
    'spec.rules.0.http.paths.0.backend.service.port.name',
    'x',
    /leads to gateway:x/,
  ],
  ['pods of another name', episode, 'spec.template.metadata.labels', {}, /selector that does not select its own pods/],
  ['a scaler of nothing', 'ScaledObject/deletion-worker', 'spec.scaleTargetRef.name', 'x', /scales Deployment\/x/],

  ['one worker', 'ScaledObject/deletion-worker', 'spec.minReplicaCount', 1, /deletion-worker: may have fewer than 2/],
  [
    'no worker',
    'ScaledObject/deletion-worker',
    'spec.minReplicaCount',
    undefined,
    /deletion-worker: may have fewer than 2/,
  ],
  ['replicas beside a scaler', worker, 'spec.replicas', 2, /has replicas beside an autoscaler/],
  [
    'two scalers',
    'HorizontalPodAutoscaler/gateway',
    'spec.scaleTargetRef.name',
    'episode',
    /episode: has 2 autoscalers/,
  ],
  ['a fixed number', 'HorizontalPodAutoscaler/gateway', 'spec.maxReplicas', 3, /gateway: can never have more/],
  ['no budget', 'PodDisruptionBudget/episode', 'spec.selector.matchLabels', {}, /episode: has 0 disruption budgets/],
  ['a budget of nothing', 'PodDisruptionBudget/episode', 'spec.maxUnavailable', 0, /lets no pod be moved/],
  ['a missing probe', worker, `${container}.readinessProbe`, undefined, /deletion-worker: has no readinessProbe/],
  ['a rollout that takes away', gateway, 'spec.strategy.rollingUpdate.maxUnavailable', 1, /maxUnavailable/],
  ['no preStop', gateway, `${container}.lifecycle`, undefined, /gateway: has no preStop/],
  ['a stop cut short', gateway, `${pod}.terminationGracePeriodSeconds`, 60, /terminationGracePeriodSeconds/],
  ['replicas on one node', gateway, `${pod}.topologySpreadConstraints`, [], /not spread over kubernetes.io\/hostname/],
  ['the Job of another release', 'Job/migrate-0.1.0', 'metadata.name', 'migrate-0.0.9', /is not named migrate-0.1.0/],

  [
    'no way out to a collector',
    'NetworkPolicy/podcast-sync-traces',
    'spec.egress.0.ports.0.port',
    4317,
    /deletion-worker: is not let out to the port 4318 of OTEL_EXPORTER_OTLP_ENDPOINT/,
  ],
  [
    'no way out to Postgres',
    'NetworkPolicy/podcast-sync-to-postgres',
    'spec.podSelector.matchExpressions.0.values',
    ['episode'],
    /subscription: is not let out to the port 5432 of DATABASE_URL_FILE/,
  ],
  [
    'no way in for Prometheus',
    'NetworkPolicy/podcast-sync-metrics',
    'spec.ingress.0.ports.0.port',
    'http',
    /episode: lets nobody in to its port ops/,
  ],

  ['root', gateway, `${pod}.securityContext.runAsUser`, 0, /gateway: runs as root/],
  ['any system call', gateway, `${pod}.securityContext.seccompProfile`, undefined, /has no seccomp profile/],
  ['a writable root', gateway, `${container}.securityContext.readOnlyRootFilesystem`, false, /can write to its root/],
  ['more privileges', gateway, `${container}.securityContext.allowPrivilegeEscalation`, true, /may gain privileges/],
  ['capabilities', gateway, `${container}.securityContext.capabilities`, undefined, /keeps capabilities/],
  [
    'a folder of the node',
    gateway,
    `${pod}.volumes.-`,
    { name: 'x', hostPath: { path: '/' } },
    /mounts a folder of its node/,
  ],
  ["the node's network", gateway, `${pod}.hostNetwork`, true, /shares the network/],
  ['a token in a pod', gateway, `${pod}.automountServiceAccountToken`, true, /mounts a token/],
  ['a token of an account', 'ServiceAccount/gateway', 'automountServiceAccountToken', true, /gives its pods a token/],
  [
    'a password in the open',
    gateway,
    `${container}.env.-`,
    variable('REDIS_PASSWORD', 'x'),
    /has a secret in its environment/,
  ],
  ['an image without a tag', gateway, `${container}.image`, 'podcast-sync/gateway', /image without a tag/],
  ['no limit of memory', gateway, `${container}.resources.limits`, {}, /has no limit of memory/],
  [
    'a limit of memory that the heap does not know',
    episode,
    `${container}.resources.limits.memory`,
    '1Gi',
    /episode: its heap may take 38 % of its memory/,
  ],
  ['a heap as large as the container', gateway, `${container}.env.0.value`, '--max-old-space-size=512', /take 100 %/],
  ['another way in', 'Service/podcast-sync-ops', 'spec.type', 'LoadBalancer', /podcast-sync-ops: can be reached/],
];

describe('a mistake is caught', () => {
  let production: Manifest[];
  beforeAll(() => void (production = render('production')));

  it.each(mistakes)('%s', (_what, object, path, value, said) => {
    const manifests = structuredClone(production);
    spoil(manifests, object, path, value);
    expect(problems(manifests).join('\n')).toMatch(said);
  });

  it('a limit for addresses where all have that of the Ingress', () => {
    const manifests = structuredClone(production);
    const [map] = manifests.filter(({ metadata }) => metadata.name.startsWith('podcast-sync-gateway-'));
    spoil(manifests, title(map as Manifest), 'data.TRUSTED_PROXIES', undefined);
    expect(problems(manifests).join('\n')).toMatch(/gateway: has a limit for addresses behind an Ingress/);
  });

  it('more replicas than Postgres has connections for', () => {
    const manifests = render('local');
    spoil(manifests, 'HorizontalPodAutoscaler/episode', 'spec.maxReplicas', 11);
    expect(problems(manifests).join('\n')).toMatch(/postgres: has 300 connections for the 307 that may be wanted/);
  });
});
