import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const folder = fileURLToPath(new URL('..', import.meta.url));
/** The folder of the chart. */
export const chartFolder = `${folder}chart`;
/** Names of the tested sets of values: the files of `k8s/values`. */
export const valueSets = readdirSync(`${folder}values`).map((file) => basename(file, '.yaml'));
/** Returns the file of a set of values. */
export const valuesFile = (values: string) => `${folder}values/${values}.yaml`;

type Labels = Record<string, string>;

/** A selector of pods, as far as the chart uses its forms. */
interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { key: string; values: string[] }[];
}

/** A container, as far as the checks read it. */
export interface Container {
  readonly name: string;
  readonly env?: readonly { name: string; value: string }[];
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

/** The template of a pod, as far as the checks read it. */
export interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly containers: readonly Container[];
    readonly terminationGracePeriodSeconds?: number;
    readonly topologySpreadConstraints?: unknown;
  };
}

/** An object of Kubernetes; which fields `spec` has depends on the kind. */
export interface Manifest<Spec = Record<string, unknown>> {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Labels };
  spec: Spec;
  [field: string]: unknown;
}

/** The `spec` of a Deployment, StatefulSet or Job. */
export interface WorkloadSpec {
  readonly template: PodTemplate;
  readonly replicas?: number;
}

/** Exit code and output of a run of helm. */
export interface HelmResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm: the program in `HELM`, else the one on PATH. */
export function runHelm(args: readonly string[]): HelmResult {
  const program = process.env.HELM || 'helm';
  const { error, ...result } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  if (error)
    throw new Error(`${program}: helm 4 is needed on PATH or in HELM (CONTRIBUTING.md)`, {
      cause: error,
    });
  return result;
}

/** Options of a rendering of the chart, in addition to a set of values. */
export interface Rendering {
  /** The chart, as a folder or a package. */
  readonly from?: string;
  readonly kubeVersion?: string;
  /** Single values, as `--set-json` takes them: `path=JSON`. */
  readonly set?: readonly string[];
}

/** Renders all objects of the chart with a set of values. */
export function renderChart(
  values: string,
  { from = chartFolder, kubeVersion, set = [] }: Rendering = {},
): Manifest[] {
  const { status, stdout, stderr } = runHelm([
    'template',
    'podcast-sync',
    from,
    '--namespace=podcast-sync',
    `--values=${valuesFile(values)}`,
    ...(kubeVersion ? ['--kube-version', kubeVersion] : []),
    ...set.flatMap((value) => ['--set-json', value]),
  ]);
  if (status !== 0) throw new Error(`helm rejected the values ${values}:\n${stderr}`);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Returns the rendered objects of the given kinds. */
export function manifestsOfKind<Spec = Record<string, unknown>>(
  manifests: readonly Manifest[],
  ...kinds: string[]
): Manifest<Spec>[] {
  return manifests.filter(({ kind }) => kinds.includes(kind)) as Manifest<Spec>[];
}

/** Returns all objects that create pods. */
export function workloadsOf(manifests: readonly Manifest[]): Manifest<WorkloadSpec>[] {
  return manifestsOfKind(manifests, 'Deployment', 'StatefulSet', 'Job');
}

/** Returns the variables of a container. */
export function environmentOf({ env = [] }: Container): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

/** Returns the pod selector of an object. A Service has plain labels, which are converted. */
export function selectorOf({ kind, spec }: Manifest): Selector {
  if (kind === 'Service') return { matchLabels: spec.selector as Labels };
  return (spec.selector ?? spec.podSelector) as Selector;
}

/** Returns true if a selector is not empty and the labels match it. */
export function selectorMatches(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Labels,
): boolean {
  const wanted = Object.entries(matchLabels);
  return (
    wanted.length + matchExpressions.length > 0 &&
    wanted.every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))
  );
}

/** Returns kind and name of an object, as `Kind/name`. */
export function manifestTitle({ kind, metadata }: Manifest<unknown>): string {
  return `${kind}/${metadata.name}`;
}
