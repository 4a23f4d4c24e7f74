import type { Kind } from './bench.contracts.js';
import type { Measurement } from './bench.variant.js';

/** All rounds of one variant with as many calls in flight. */
export interface Series {
  readonly kind: Kind;
  readonly replicas: number;
  readonly callers: number;
  /** One measurement per round, in order: the same place in two series is the same time. */
  readonly rounds: readonly Measurement[];
}

const names: Record<Kind, string> = {
  streams: 'this',
  redis: "Nest's Redis transport",
  tcp: "Nest's TCP transport",
};

/** What CPU per call may be at most, as a ratio to Nest's Redis transport with as many replicas. */
const targets = [
  { replicas: 1, callers: 64, most: 1.25 },
  { replicas: 2, callers: 64, most: 1 },
] as const;

/** A table in Markdown, and below it whether the targets were met. */
export function report(all: readonly Series[]): string {
  const head = [
    'replicas',
    'in flight',
    'transport',
    'calls/s',
    'p50 ms',
    'p99 ms',
    'runs per call',
    'CPU µs per call',
  ];
  const ratios = ["CPU ratio to Nest's Redis", "calls/s ratio to Nest's Redis"];
  const lines = all.map((series) => row(series, all));
  const rule = [...head, ...ratios].map((title) => (title === 'transport' ? '---' : '--:'));
  const table = [[...head, ...ratios], rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return `${table}\n\n${targets.map((target) => judgement(target, all)).join('\n')}\n`;
}

function row(series: Series, all: readonly Series[]): string[] {
  const { kind, replicas, callers } = series;
  const of = (pick: (measurement: Measurement) => number) => median(series.rounds.map(pick));
  return [
    String(replicas),
    String(callers),
    names[kind],
    Math.round(of((one) => one.callsPerSecond)).toLocaleString('en'),
    of((one) => one.p50).toFixed(2),
    of((one) => one.p99).toFixed(2),
    of((one) => one.runs).toFixed(1),
    of((one) => one.cpu).toFixed(0),
    ratio(series, all, (one) => one.cpu)?.toFixed(2) ?? '',
    ratio(series, all, (one) => one.callsPerSecond)?.toFixed(2) ?? '',
  ];
}

/**
 * A series beside that of Nest's Redis transport with as many replicas and callers: the median of the rounds' ratios,
 * so that what else the machine does for a while weighs on both.
 */
function ratio(
  { rounds, replicas, callers }: Series,
  all: readonly Series[],
  pick: (measurement: Measurement) => number,
): number | undefined {
  const other = all.find((one) => one.kind === 'redis' && one.replicas === replicas && one.callers === callers);
  return other && median(rounds.map((one, round) => pick(one) / pick(other.rounds[round]!)));
}

function judgement({ replicas, callers, most }: (typeof targets)[number], all: readonly Series[]): string {
  const ours = all.find((one) => one.kind === 'streams' && one.replicas === replicas && one.callers === callers);
  const is = ours && ratio(ours, all, (one) => one.cpu);
  const what = `CPU per call with ${replicas} replica${replicas > 1 ? 's' : ''} and ${callers} in flight`;
  if (is === undefined) return `${what}: not measured`;
  return `${what}: ${is.toFixed(2)} of Nest's Redis transport, at most ${most.toFixed(2)} wanted: ${is <= most ? 'met' : 'MISSED'}`;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle - 0.5)]! + sorted[Math.ceil(middle - 0.5)]!) / 2;
}
