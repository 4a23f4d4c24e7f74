import { stopLimitMs } from '#runtime';
import type {
  V1Container,
  V1Deployment,
  V1PodDisruptionBudget,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import { containerEnvironment } from './environment.check.js';
import { type Manifest, ofKind, selects, title } from './overlay.js';

/** Every server can be restarted, moved and scaled without a request being lost. */
export function availabilityProblems(manifests: readonly Manifest[]): string[] {
  const deployments = ofKind<V1Deployment>(manifests, 'Deployment');
  return [
    ...deployments.flatMap((deployment) =>
      [
        ...rolloutProblems(deployment, manifests),
        ...(deployment.spec?.template.spec?.containers ?? []).flatMap((container) => probeProblems(container)),
        ...spreadProblems(deployment),
        ...scalingProblems(deployment, manifests),
      ].map((problem) => `${title(deployment)}: ${problem}`),
    ),
    ...migrationProblems(manifests),
  ];
}

function rolloutProblems({ spec }: V1Deployment, manifests: readonly Manifest[]): string[] {
  const problems: string[] = [];
  if (spec?.strategy?.rollingUpdate?.maxUnavailable !== 0)
    problems.push('a rollout takes replicas away: maxUnavailable');
  const pod = spec?.template.spec;
  const sleeps = (pod?.containers ?? []).map(({ lifecycle }) => lifecycle?.preStop?.sleep?.seconds);
  if (sleeps.some((seconds) => seconds === undefined)) problems.push('has no preStop');
  const longest =
    stopLimitMs / 1_000 + Math.max(...sleeps.map(Number)) + drainSeconds(pod?.containers ?? [], manifests);
  if ((pod?.terminationGracePeriodSeconds ?? 30) <= longest)
    problems.push(`is killed within the ${longest} s that its stop may take: terminationGracePeriodSeconds`);
  return problems;
}

function drainSeconds(containers: V1Container[], manifests: readonly Manifest[]): number {
  const given = containers.map((container) => containerEnvironment(container, manifests).DRAIN_SECONDS);
  return Math.max(0, ...given.map((seconds) => Number(seconds ?? 0)));
}

function probeProblems(container: V1Container): string[] {
  const wanted = { startupProbe: '/livez', livenessProbe: '/livez', readinessProbe: '/readyz' } as const;
  return Object.entries(wanted)
    .filter(([probe, path]) => container[probe as keyof typeof wanted]?.httpGet?.path !== path)
    .map(([probe, path]) => `has no ${probe} that asks for ${path}`);
}

function spreadProblems({ spec }: V1Deployment): string[] {
  const keys = spec?.template.spec?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey) ?? [];
  return ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']
    .filter((key) => !keys.includes(key))
    .map((key) => `is not spread over ${key}`);
}

/** One autoscaler and one budget each, never fewer than two replicas, and always one that may be moved. */
function scalingProblems(deployment: V1Deployment & Manifest, manifests: readonly Manifest[]): string[] {
  const problems: string[] = [];
  if (deployment.spec?.replicas !== undefined) problems.push('has replicas beside an autoscaler');
  const scalers = ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject').filter(
    (scaler) => (scaler as unknown as V2HorizontalPodAutoscaler).spec?.scaleTargetRef.name === deployment.metadata.name,
  );
  if (scalers.length !== 1) problems.push(`has ${scalers.length} autoscalers instead of one`);
  const bounds = scalers.map(({ spec }) => ({
    least: Number(spec?.minReplicas ?? spec?.minReplicaCount ?? 0),
    most: Number(spec?.maxReplicas ?? spec?.maxReplicaCount ?? 0),
  }));
  const least = Math.min(...bounds.map((bound) => bound.least));
  if (least < 2) problems.push('may have fewer than 2 replicas');
  if (bounds.some(({ most }) => most <= least)) problems.push('can never have more replicas than at the least');
  const labels = deployment.spec?.template.metadata?.labels;
  const budgets = ofKind<V1PodDisruptionBudget>(manifests, 'PodDisruptionBudget').filter(({ spec }) =>
    selects(spec?.selector, labels),
  );
  if (budgets.length !== 1) problems.push(`has ${budgets.length} disruption budgets instead of one`);
  if (budgets.some(({ spec }) => !leavesRoom(spec, least)))
    problems.push('has a budget that lets no pod be moved, or all');
  return problems;
}

function leavesRoom(budget: V1PodDisruptionBudget['spec'], least: number): boolean {
  const { maxUnavailable, minAvailable } = budget ?? {};
  const moved = maxUnavailable === undefined ? least - Number(minAvailable) : Number(maxUnavailable);
  return moved >= 1 && moved < least;
}

/** A Job can't be changed: each release needs one of its own name, and so does each change of what it runs, by a hash. */
function migrationProblems(manifests: readonly Manifest[]): string[] {
  const job = ofKind(manifests, 'Job').find(
    ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'migrate',
  );
  if (!job) return ['Job/migrate: is not there'];
  const image = (job as unknown as V1Deployment).spec?.template.spec?.containers[0]?.image ?? '';
  const named = `migrate-${image.split(':').at(-1)}`;
  const { name } = job.metadata;
  if (!/-[0-9a-f]{8}$/.test(name)) return [`${title(job)}: is not named ${named} and a hash`];
  return name.slice(0, -9) === named ? [] : [`${title(job)}: is not named ${named}, after the tag of its image`];
}
