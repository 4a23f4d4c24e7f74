import type {
  V1Container,
  V1HorizontalPodAutoscaler,
  V1Ingress,
  V1LabelSelector,
  V1NetworkPolicy,
  V1Probe,
  V1Service,
  V1StatefulSet,
} from '@kubernetes/client-node';
import { type Manifest, ofKind, selects, title, type Workload, workloads } from './overlay.js';

/** The keys of each Secret that the cluster is expected to have, as `name/key`. */
export type SecretKeys = ReadonlySet<string>;

/** Whatever names something else names something that is there. */
export function referenceProblems(manifests: readonly Manifest[], secrets: SecretKeys): string[] {
  const names = manifests.map((manifest) => title(manifest));
  return [
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `${name}: is there twice`),
    ...workloads(manifests).flatMap((workload) => ofWorkload(workload, names, secrets)),
    ...ofKind<V1Service>(manifests, 'Service').flatMap((service) => ofService(service, manifests)),
    ...ofKind<V1Ingress>(manifests, 'Ingress').flatMap((ingress) => ofIngress(ingress, manifests)),
    ...ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject').flatMap((scaler) => ofScaler(scaler, names)),
    ...ofKind(manifests, 'PodDisruptionBudget').flatMap((budget) => selectsOne(budget, manifests)),
    ...ofKind<V1NetworkPolicy>(manifests, 'NetworkPolicy').flatMap((policy) => ofPolicy(policy, manifests)),
    ...ofKind(manifests, 'ServiceMonitor').flatMap((monitor) => ofMonitor(monitor, manifests)),
    ...ofKind(manifests, 'TriggerAuthentication').flatMap((credential) => ofCredential(credential, secrets)),
  ];
}

const podLabels = (workload: Workload) => workload.spec.template.metadata?.labels ?? {};
const portNames = (container: V1Container) => (container.ports ?? []).map(({ name }) => name);
const workloadPorts = (workload: Workload) => workload.spec.template.spec?.containers.flatMap(portNames) ?? [];

function ofWorkload(workload: Workload, names: string[], secrets: SecretKeys): string[] {
  const pod = workload.spec.template.spec;
  const labels = podLabels(workload);
  const selectors = [
    ...('selector' in workload.spec ? [workload.spec.selector as V1LabelSelector] : []),
    ...(pod?.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector),
  ];
  const volumes = (pod?.volumes ?? []).map(({ name }) => name);
  const claims = (workload as V1StatefulSet).spec?.volumeClaimTemplates ?? [];
  const mountable = [...volumes, ...claims.map(({ metadata }) => metadata?.name)];
  const wanted = [
    `ServiceAccount/${pod?.serviceAccountName}`,
    ...(pod?.containers ?? []).flatMap(({ envFrom = [] }) =>
      envFrom.flatMap(({ configMapRef }) => (configMapRef ? [`ConfigMap/${configMapRef.name}`] : [])),
    ),
  ];
  return [
    ...wanted.filter((name) => !names.includes(name)).map((name) => `names ${name}, which is not there`),
    ...selectors
      .filter((selector) => !selects(selector, labels))
      .map(() => 'has a selector that does not select its own pods'),
    ...(pod?.volumes ?? [])
      .filter(({ secret }) => secret && ![...secrets].some((key) => key.startsWith(`${secret.secretName}/`)))
      .map(({ secret }) => `mounts Secret/${secret?.secretName}, which nobody makes`),
    ...(pod?.containers ?? []).flatMap((container) => [
      ...(container.volumeMounts ?? [])
        .filter(({ name }) => !mountable.includes(name))
        .map(({ name }) => `mounts the volume ${name}, which it does not have`),
      ...unknownPorts(container).map((port) => `probes the port ${port}, which it does not have`),
    ]),
  ].map((problem) => `${title(workload)}: ${problem}`);
}

function unknownPorts(container: V1Container): unknown[] {
  const { startupProbe, livenessProbe, readinessProbe } = container;
  return [startupProbe, livenessProbe, readinessProbe]
    .map((probe: V1Probe | undefined) => probe?.httpGet?.port)
    .filter((port) => port !== undefined && !portNames(container).includes(String(port)));
}

function ofService(service: V1Service & Manifest, manifests: readonly Manifest[]): string[] {
  const chosen = workloads(manifests).filter((workload) =>
    selects({ matchLabels: service.spec?.selector }, podLabels(workload)),
  );
  if (chosen.length === 0) return [`${title(service)}: selects no pod`];
  return (service.spec?.ports ?? []).flatMap(({ targetPort }) =>
    chosen
      .filter((workload) => !workloadPorts(workload).includes(String(targetPort)))
      .map((workload) => `${title(service)}: leads to the port ${targetPort}, which ${title(workload)} does not have`),
  );
}

function ofIngress(ingress: V1Ingress & Manifest, manifests: readonly Manifest[]): string[] {
  const backends = (ingress.spec?.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend));
  return backends.flatMap(({ service }) => {
    const target = ofKind<V1Service>(manifests, 'Service').find(({ metadata }) => metadata.name === service?.name);
    const found = target?.spec?.ports?.some(({ name }) => name === service?.port?.name);
    return found ? [] : [`${title(ingress)}: leads to ${service?.name}:${service?.port?.name}, which is not there`];
  });
}

function ofScaler(scaler: Manifest, names: string[]): string[] {
  const { kind = 'Deployment', name } = (scaler as unknown as V1HorizontalPodAutoscaler).spec?.scaleTargetRef ?? {};
  const target = `${kind}/${name}`;
  return names.includes(target) ? [] : [`${title(scaler)}: scales ${target}, which is not there`];
}

function selectsOne(budget: Manifest, manifests: readonly Manifest[]): string[] {
  const selector = budget.spec?.selector as V1LabelSelector | undefined;
  const chosen = workloads(manifests).filter((workload) => selects(selector, podLabels(workload)));
  return chosen.length === 1 ? [] : [`${title(budget)}: selects ${chosen.length} workloads instead of one`];
}

function ofPolicy(policy: V1NetworkPolicy & Manifest, manifests: readonly Manifest[]): string[] {
  const chosen = workloads(manifests).filter((workload) => selects(policy.spec?.podSelector, podLabels(workload)));
  if (chosen.length === 0) return [`${title(policy)}: selects no pod`];
  const named = (policy.spec?.ingress ?? []).flatMap(({ ports }) => ports ?? []).map(({ port }) => port);
  return chosen.flatMap((workload) =>
    named
      .filter((port) => !workloadPorts(workload).includes(String(port)))
      .map((port) => `${title(policy)}: allows the port ${port}, which ${title(workload)} does not have`),
  );
}

function ofMonitor(monitor: Manifest, manifests: readonly Manifest[]): string[] {
  const { selector, endpoints } = monitor.spec as { selector: V1LabelSelector; endpoints: { port: string }[] };
  const services = ofKind<V1Service>(manifests, 'Service').filter(({ metadata }) =>
    selects(selector, metadata.labels ?? {}),
  );
  if (services.length === 0) return [`${title(monitor)}: selects no Service`];
  return endpoints
    .filter(({ port }) => !services.some(({ spec }) => spec?.ports?.some(({ name }) => name === port)))
    .map(({ port }) => `${title(monitor)}: scrapes the port ${port}, which no Service has`);
}

function ofCredential(credential: Manifest, secrets: SecretKeys): string[] {
  const wanted = credential.spec?.secretTargetRef as { name: string; key: string }[];
  return wanted
    .map(({ name, key }) => `${name}/${key}`)
    .filter((key) => !secrets.has(key))
    .map((key) => `${title(credential)}: reads the secret ${key}, which nobody makes`);
}
