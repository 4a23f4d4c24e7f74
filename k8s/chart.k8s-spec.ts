import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopLimitMs } from '#runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeContainerSecrets } from '../apps/standalone/src/container-secrets.js';
import {
  chartFolder,
  environmentOf,
  type Manifest,
  manifestsOfKind,
  manifestTitle,
  renderChart,
  runHelm,
  selectorMatches,
  selectorOf,
  valueSets,
  valuesFile,
  workloadsOf,
  type WorkloadSpec,
} from './testing/chart.js';
import { isApp, variableProblems } from './testing/environment.js';
import { schemaProblems } from './testing/schema.js';

/**
 * Keys that an operator adds to the Secrets: `<app>/<key>` (docs/guide/kubernetes.md, "Secrets").
 * All have the same text as value.
 */
const keysOfOperator = [
  ...['gateway', 'gpodder', 'subscription', 'episode', 'deletion-worker', 'account', 'feed'].map(
    (app) => `${app}/REDIS_TLS_CA`,
  ),
  ...['PASSWORD', 'SENTINEL_PASSWORD', 'TLS_CA'].map((key) => `deletion-worker/QUEUE_REDIS_${key}`),
  'deletion-worker/EVENTS_REDIS_PASSWORD',
  'deletion-worker/QUEUE_BOARD_PASSWORD',
  'account/SIGN_IN_CLIENT_SECRET',
  'account/SMTP_URL',
];
const edges = ['gateway', 'gpodder', 'account'];

interface Scaler {
  scaleTargetRef: { name: string };
  minReplicas?: number;
  minReplicaCount?: number;
}
interface Ingress {
  rules: { http: { paths: { backend: { service: { name: string } } }[] } }[];
}

let secrets: string;
beforeAll(async () => {
  secrets = mkdtempSync(join(tmpdir(), 'k8s-secrets-'));
  await makeContainerSecrets(secrets);
  for (const key of keysOfOperator)
    writeFileSync(join(secrets, key), 'smtps://user:secret@mail.example.org');
});
afterAll(() => rmSync(secrets, { recursive: true }));

describe.each(valueSets)('the chart with the values %s', (values) => {
  let manifests: Manifest[];
  let servers: Manifest<WorkloadSpec>[];
  beforeAll(() => {
    manifests = renderChart(values);
    servers = manifestsOfKind<WorkloadSpec>(manifests, 'Deployment');
  });

  it('passes helm lint', () => {
    expect(
      runHelm(['lint', '--strict', chartFolder, '--values', valuesFile(values)]),
    ).toMatchObject({
      status: 0,
    });
  });

  it('has only published fields, and all required ones', () => {
    expect(schemaProblems(manifests)).toEqual([]);
  });

  it('sets variables that every app knows and can start with', () => {
    const containers = workloadsOf(manifests).flatMap(({ spec }) => spec.template.spec.containers);
    const problems = containers.filter(isApp).flatMap((container) =>
      variableProblems(container.name, environmentOf(container), {
        folder: join(secrets, container.name),
        mount: '/run/secrets/podcast-sync',
      }),
    );
    expect(problems).toEqual([]);
  });

  it('keeps at least two replicas of every server, one of which can be disrupted', () => {
    for (const server of servers) {
      const scalers = manifestsOfKind<Scaler>(
        manifests,
        'HorizontalPodAutoscaler',
        'ScaledObject',
      ).filter(({ spec }) => spec.scaleTargetRef.name === server.metadata.name);
      expect(scalers.map(manifestTitle)).toHaveLength(1);
      for (const { spec } of scalers)
        expect(spec.minReplicas ?? spec.minReplicaCount).toBeGreaterThanOrEqual(2);
      const { labels } = server.spec.template.metadata;
      const budgets = manifestsOfKind(manifests, 'PodDisruptionBudget').filter((budget) =>
        selectorMatches(selectorOf(budget), labels),
      );
      expect(budgets.map((budget) => budget.spec.maxUnavailable)).toEqual([1]);
      expect(server.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } });
    }
  });

  it('gives every server enough time to stop, and probes', () => {
    for (const { spec } of servers) {
      const pod = spec.template.spec;
      const container = pod.containers[0]!;
      const drain = Number(environmentOf(container).DRAIN_SECONDS ?? 0);
      const stop = container.lifecycle!.preStop.sleep.seconds + drain + stopLimitMs / 1_000;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(stop);
      const asks = (path: string) => ({ httpGet: { path, port: 'ops' } });
      expect(container).toMatchObject({
        livenessProbe: asks('/livez'),
        readinessProbe: asks('/readyz'),
      });
    }
  });

  it('exposes only the HTTP apps', () => {
    const types = manifestsOfKind(manifests, 'Service').map(({ spec }) => spec.type ?? 'ClusterIP');
    expect(new Set(types)).toEqual(new Set(['ClusterIP']));
    const backends = manifestsOfKind<Ingress>(manifests, 'Ingress').flatMap(({ spec }) =>
      spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service.name)),
    );
    expect(backends.filter((name) => !edges.includes(name))).toEqual([]);
  });

  it('runs pods with restricted security and bounded memory', () => {
    for (const { spec } of workloadsOf(manifests)) {
      const pod = spec.template.spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of pod.containers)
        expect(container).toMatchObject({
          image: expect.stringMatching(/:(?!latest$)[\w.-]+$/),
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: { limits: { memory: expect.any(String) } },
        });
      expect(JSON.stringify(pod)).not.toMatch(
        /"(hostPath|hostNetwork|hostPID|hostIPC|privileged)"/,
      );
    }
  });

  it('contains no secrets', () => {
    expect(manifestsOfKind(manifests, 'Secret')).toEqual([]);
    const variables = workloadsOf(manifests).flatMap(({ spec }) =>
      spec.template.spec.containers.map(environmentOf),
    );
    const secret = /(DATABASE_URL|SMTP_URL|PASSWORD|SECRET|(SECRETS|SESSION|CURSOR)_KEY|TOKEN)$/;
    expect(variables.flatMap(Object.keys).filter((name) => secret.test(name))).toEqual([]);
  });

  it('has only selectors that match pods', () => {
    const pods = workloadsOf(manifests).map(({ spec }) => spec.template.metadata.labels);
    const blind = manifestsOfKind(
      manifests,
      'Deployment',
      'Service',
      'PodDisruptionBudget',
      'NetworkPolicy',
    ).filter((manifest) => !pods.some((labels) => selectorMatches(selectorOf(manifest), labels)));
    expect(blind.map(manifestTitle)).toEqual([]);
  });
});

describe('the chart', () => {
  it('is a package that renders the same', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-'));
    try {
      expect(runHelm(['package', chartFolder, '--destination', folder])).toMatchObject({
        status: 0,
      });
      const from = join(folder, readdirSync(folder)[0]!);
      expect(renderChart('everything', { from })).toEqual(renderChart('everything'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('migrates with podcast-sync, in its image', () => {
    const [job] = manifestsOfKind<WorkloadSpec>(renderChart('smallest'), 'Job');
    expect(job?.spec.template.spec.containers).toMatchObject([
      { image: expect.stringContaining('/podcast-sync:'), args: ['migrate'] },
    ]);
  });

  it('is rejected by a Kubernetes without the sleep action of preStop', () => {
    expect(() => renderChart('smallest', { kubeVersion: '1.29.0' })).toThrow(
      /requires kubeVersion: >=1.30.0/,
    );
  });

  it('has the version of its images', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { stdout } = runHelm(['show', 'chart', chartFolder]);
    expect(stdout).toMatch(new RegExp(`^appVersion: ${version}$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^version: ${version}$`, 'm'));
  });
});

describe('the check of fields detects', () => {
  it.each([
    [
      'a misspelled field',
      'Deployment/episode',
      { spec: { replica: 2 } },
      /'"replica"' does not exist/,
    ],
    [
      'a missing field',
      'Deployment/episode',
      { spec: { selector: undefined } },
      /'"?selector"?' is missing/,
    ],
    [
      'a value of another type',
      'Service/gateway',
      { spec: { ports: 80 } },
      /not assignable to type/,
    ],
    [
      'a field that KEDA does not have',
      'ScaledObject/deletion-worker',
      { spec: { minReplicas: 2 } },
      /'"minReplicas"' does/,
    ],
  ])('%s', (_what, name, { spec }, message) => {
    const object = renderChart('production').find((manifest) => manifestTitle(manifest) === name)!;
    expect(schemaProblems([{ ...object, spec: { ...object.spec, ...spec } }])[0]).toMatch(message);
  });
});
