import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { V1Deployment, V1Job, V1ObjectMeta, V1PodTemplateSpec, V1StatefulSet } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';

/** An object of Kubernetes as it is written down. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: V1ObjectMeta & { name: string };
  spec?: Record<string, unknown>;
  [field: string]: unknown;
}

/** Something that makes pods. */
export type Workload = (V1Deployment | V1StatefulSet | V1Job) & Manifest & { spec: { template: V1PodTemplateSpec } };

/** The overlays of this project. */
export const overlays = ['local', 'production'] as const;
export type Overlay = (typeof overlays)[number];

/** All objects of an overlay, rendered by the program that `KUSTOMIZE` names: kustomize, or a kubectl that knows components. */
export function render(overlay: Overlay): Manifest[] {
  const program = process.env.KUSTOMIZE;
  if (!program) throw new Error('KUSTOMIZE has to name a kustomize 5, or a kubectl that has it.');
  const verb = basename(program).startsWith('kubectl') ? 'kustomize' : 'build';
  const folder = fileURLToPath(new URL(`../overlays/${overlay}`, import.meta.url));
  const { status, stdout, stderr, error } = spawnSync(program, [verb, folder], { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`kustomize refused the overlay ${overlay}:\n${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** The objects of a kind. */
export function ofKind<Kind = Manifest>(manifests: readonly Manifest[], ...kinds: string[]): (Kind & Manifest)[] {
  return manifests.filter(({ kind }) => kinds.includes(kind)) as (Kind & Manifest)[];
}

/** Everything that makes pods. */
export function workloads(manifests: readonly Manifest[]): Workload[] {
  return ofKind<Workload>(manifests, 'Deployment', 'StatefulSet', 'Job');
}

/** `Kind/name`, as a problem names an object. */
export function title({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}

/** Whether labels have everything that a selector asks for. An empty selector selects nothing here. */
export function selects(
  selector: { matchLabels?: Record<string, string>; matchExpressions?: { key: string; values?: string[] }[] } = {},
  labels: Record<string, string> = {},
): boolean {
  const wanted = Object.entries(selector.matchLabels ?? {});
  const ranges = selector.matchExpressions ?? [];
  if (wanted.length + ranges.length === 0) return false;
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    ranges.every(({ key, values }) => values?.includes(labels[key] ?? ''))
  );
}
