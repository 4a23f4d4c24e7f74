import { containerEnvironment, imageEnvironment, isApp } from './environment.check.js';
import { type Manifest, title, workloads } from './overlay.js';

/** Share of a container's memory that its heap may take; the rest is for buffers, code and the young generation. */
const [least, most] = [0.7, 0.8];

/** What a container may take. */
export interface ContainerMemory {
  /** Its limit as Kubernetes (`512Mi`) or docker-compose (`384m`) writes it. */
  readonly limit: string | undefined;
  /** Its `NODE_OPTIONS`. */
  readonly nodeOptions: string | undefined;
}

/** Bytes of a limit; `undefined` for what is none. */
export function bytesOf(limit: string | undefined): number | undefined {
  const [, count, unit] = /^(\d+)(m|g|Mi|Gi)$/.exec(limit ?? '') ?? [];
  return count === undefined ? undefined : Number(count) * 2 ** (unit?.toLowerCase().startsWith('g') ? 30 : 20);
}

/** What is wrong with the heap of a Node process in a container of this size, if anything. */
export function heapProblem({ limit, nodeOptions }: ContainerMemory): string | undefined {
  const heap = Number(/--max-old-space-size=(\d+)/.exec(nodeOptions ?? '')?.[1] ?? 0) * 2 ** 20;
  const bytes = bytesOf(limit);
  if (heap === 0) return 'sets no size of its heap';
  if (bytes === undefined) return 'has no limit of memory';
  const share = heap / bytes;
  if (share >= least && share <= most) return undefined;
  return `its heap may take ${Math.round(share * 100)} % of its memory, not about 75 %`;
}

/** Every app ends by its own heap limit, with a report, before the kernel ends it without one. */
export function memoryProblems(manifests: readonly Manifest[]): string[] {
  return workloads(manifests).flatMap((workload) =>
    (workload.spec.template.spec?.containers ?? []).filter(isApp).flatMap((container) => {
      const { NODE_OPTIONS: nodeOptions } = { ...imageEnvironment(), ...containerEnvironment(container, manifests) };
      const problem = heapProblem({ limit: container.resources?.limits?.memory, nodeOptions });
      return problem === undefined ? [] : [`${title(workload)}: ${problem}`];
    }),
  );
}
