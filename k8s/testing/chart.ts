import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './overlay.js';

/** The sets of values that the chart is checked with, in `k8s/chart/ci`. */
export const valueSets = ['smallest', 'local', 'production', 'redis-cluster', 'everything'] as const;
export type ValueSet = (typeof valueSets)[number];

/** Where the chart is. */
export const chart = fileURLToPath(new URL('../chart', import.meta.url));
/** The file of a set of values. */
export const valuesFile = (values: ValueSet) => `${chart}/ci/${values}.yaml`;

/** What helm answers: its status, what it printed, and what it said is wrong. */
export interface HelmAnswer {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the helm that `HELM` names. */
export function helm(args: readonly string[]): HelmAnswer {
  const program = process.env.HELM;
  if (!program)
    throw new Error('HELM has to name a helm 4, whose words are expected; docs/operations.md, "What never changes".');
  const { error, ...answer } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
  if (error) throw error;
  return answer;
}

/** What a rendering is given besides a set of values. */
export interface Rendering {
  /** The chart, as a folder or a package. */
  readonly from?: string;
  readonly kubeVersion?: string;
  /** Single values, as `--set-json` takes them: `path=JSON`. */
  readonly set?: readonly string[];
}

/** All objects of the chart with a set of values. */
export function renderChart(values: ValueSet, { from = chart, kubeVersion, set = [] }: Rendering = {}): Manifest[] {
  const { status, stdout, stderr } = helm([
    'template',
    'podcast-sync',
    from,
    '--namespace=podcast-sync',
    `--values=${valuesFile(values)}`,
    ...(kubeVersion ? ['--kube-version', kubeVersion] : []),
    ...set.flatMap((value) => ['--set-json', value]),
  ]);
  if (status !== 0) throw new Error(`helm refused the values ${values}:\n${stderr}`);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}
