import { databaseConfig } from '#database';
import type { V1Deployment, V1StatefulSet, V2HorizontalPodAutoscaler } from '@kubernetes/client-node';
import { containerEnvironment } from './environment.check.js';
import { type Manifest, ofKind, title } from './overlay.js';

/** What Postgres keeps for its superuser, and what `migrate` takes. */
const besides = 3 + 4;

/** A Postgres in the cluster has a connection for everything that may run at once: all replicas, and one more of each in a rollout. */
export function connectionProblems(manifests: readonly Manifest[]): string[] {
  const wanted = ofKind<V1Deployment>(manifests, 'Deployment').reduce(
    (sum, deployment) => sum + poolSize(deployment, manifests) * (mostReplicas(deployment, manifests) + 1),
    besides,
  );
  return ofKind<V1StatefulSet>(manifests, 'StatefulSet').flatMap((store) => {
    const args = store.spec?.template.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
    const limit = args.map((arg) => /^max_connections=(\d+)$/.exec(arg)?.[1]).find(Boolean);
    return limit === undefined || Number(limit) >= wanted
      ? []
      : [`${title(store)}: has ${limit} connections for the ${wanted} that may be wanted: max_connections`];
  });
}

/** The connections of one replica; none of an app without a database. */
function poolSize(deployment: V1Deployment, manifests: readonly Manifest[]): number {
  const containers = deployment.spec?.template.spec?.containers ?? [];
  const given = Object.assign(
    {},
    ...containers.map((container) => containerEnvironment(container, manifests)),
  ) as Record<string, string>;
  return 'DATABASE_URL_FILE' in given ? databaseConfig.shape.DATABASE_POOL_SIZE.parse(given.DATABASE_POOL_SIZE) : 0;
}

function mostReplicas(deployment: Manifest, manifests: readonly Manifest[]): number {
  const scalers = ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject').filter(
    (scaler) => (scaler as unknown as V2HorizontalPodAutoscaler).spec?.scaleTargetRef.name === deployment.metadata.name,
  );
  return Math.max(1, ...scalers.map(({ spec }) => Number(spec?.maxReplicas ?? spec?.maxReplicaCount ?? 0)));
}
