import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderChart } from './testing/chart.js';
import { type Manifest, render, title } from './testing/overlay.js';
import { makeSecrets, problems, type Secrets } from './testing/problems.js';

/** What follows the name of the Job: a tag, a hash. */
const suffix = /(?<=^Job\/migrate)-.*/;

/**
 * Sets a field to a value, appends it to a list (`-`), or removes the field where the value is undefined. Elements of a
 * list are found by their place or by their name.
 */
function spoil(manifests: Manifest[], object: string, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() as string;
  const found = manifests.find((manifest) => title(manifest).replace(suffix, '') === object);
  const at = steps.reduce<unknown>((inner, step) => {
    const named = Array.isArray(inner) && (inner as { name?: string }[]).find(({ name }) => name === step);
    return named || (inner as Record<string, unknown>)[step];
  }, found);
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
    `${container}.env.DATABASE_URL_FILE.value`,
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
  ['an unknown ConfigMap', episode, `${container}.envFrom`, [{ configMapRef: { name: 'x' } }], /names ConfigMap\/x/],
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
  [
    'a Job that stays the same',
    'Job/migrate',
    'metadata.name',
    'migrate-0.1.0',
    /is not named migrate-0.1.0 and a hash/,
  ],
  [
    'the Job of another release',
    'Job/migrate',
    'metadata.name',
    'migrate-0.0.9-01234567',
    /is not named migrate-0.1.0/,
  ],

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
  [
    'a heap as large as the container',
    gateway,
    `${container}.env.NODE_OPTIONS.value`,
    '--max-old-space-size=512',
    /take 100 %/,
  ],
  [
    'the key that seals, in the open',
    'Deployment/account',
    `${container}.env.-`,
    variable('SECRETS_KEY', 'x'),
    /account: has a secret in its environment/,
  ],
  [
    'no way out to the key set of accounts',
    'NetworkPolicy/podcast-sync-gateway',
    'spec.egress.0.ports',
    [{ port: 443 }],
    /gateway: is not let out to the port 80 of AUTH_JWKS_URL/,
  ],
  ['another way in', 'Service/podcast-sync-ops', 'spec.type', 'LoadBalancer', /podcast-sync-ops: can be reached/],
];

const sources: [where: string, production: () => Manifest[]][] = [
  ['the overlay', () => render('production')],
  ['the chart', () => renderChart('production')],
];

describe.each(sources)('a mistake is caught in production of %s', (_where, rendered) => {
  let production: Manifest[];
  let secrets: Secrets;
  beforeAll(async () => {
    production = rendered();
    secrets = await makeSecrets();
  });
  afterAll(() => secrets.remove());

  it.each(mistakes)('%s', (_what, object, path, value, said) => {
    const manifests = structuredClone(production);
    spoil(manifests, object, path, value);
    expect(problems(manifests, secrets).join('\n')).toMatch(said);
  });

  it('a limit for addresses where all have that of the Ingress', () => {
    const manifests = structuredClone(production);
    spoil(manifests, gateway, `${container}.env.TRUSTED_PROXIES.value`, '');
    expect(problems(manifests, secrets).join('\n')).toMatch(/gateway: has a limit for addresses behind an Ingress/);
  });

  it('an account app that sees everybody with the address of the Ingress', () => {
    const manifests = structuredClone(production);
    spoil(manifests, 'Deployment/account', `${container}.env.TRUSTED_PROXIES.value`, '');
    expect(problems(manifests, secrets).join('\n')).toMatch(/account: has a limit for addresses behind an Ingress/);
  });
});

const local: [where: string, local: () => Manifest[]][] = [
  ['the overlay', () => render('local')],
  ['the chart', () => renderChart('local')],
];

it.each(local)('more replicas than Postgres has connections for are seen in local of %s', async (_where, rendered) => {
  const secrets = await makeSecrets();
  const manifests = rendered();
  spoil(manifests, 'HorizontalPodAutoscaler/episode', 'spec.maxReplicas', 12);
  expect(problems(manifests, secrets).join('\n')).toMatch(
    /postgres: has 340 connections for the 352 that may be wanted/,
  );
  secrets.remove();
});
