import { quantile, table } from '../report.mjs';

/** Limits of the CPU time per request with 16 in flight, as ratios to the floor. */
const targets = {
  'POST of 30 positions': 1.5,
  'poll, nothing new': 1.6,
  'page of 50 episodes': 1.6,
  PATCH: 1.6,
  'POST of 1 subscription': 1.6,
};

const head = ['case', 'in flight', 'what', 'requests/s', 'p50 ms', 'p99 ms', 'errors', 'CPU µs'];
const parts = ['floor gateway', 'floor service', 'edge', 'services', 'Redis', 'Postgres'];
const logged = ['WAL bytes', 'WAL page images'];
const ratios = ['CPU ratio', 'p50 ratio', 'requests/s ratio'];

/** Returns a table of the medians of all rounds, followed by the met and missed targets. */
export function report(all) {
  const series = grouped(all).map(medians);
  return [
    table([...head, ...parts, ...logged, ...ratios], series.map(row)),
    '',
    ...judgements(series),
  ].join('\n');
}

/** Groups the rounds by line of the table. Compared lines are adjacent. */
function grouped(all) {
  const byCase = new Map();
  for (const one of all) {
    const key = `${one.name}/${one.connections}`;
    const byLabel = byCase.get(key) ?? byCase.set(key, new Map()).get(key);
    byLabel.set(one.label, [...(byLabel.get(one.label) ?? []), one]);
  }
  return [...byCase.values()].flatMap((byLabel) => [...byLabel.values()]);
}

function medians(rounds) {
  const of = (pick) => quantile(rounds.map(pick), 0.5);
  const { name, connections, label, beside } = rounds[0];
  return {
    name,
    connections,
    label,
    rate: of((one) => one.rate),
    p50: of((one) => one.p50),
    p99: of((one) => one.p99),
    errors: rounds.reduce((sum, one) => sum + one.errors, 0),
    wal: of((one) => one.wal),
    images: of((one) => one.images),
    cpu: Object.fromEntries(
      ['total', ...parts].map((part) => [part, of((one) => one.cpu[part] ?? 0)]),
    ),
    // Medians of the rounds' ratios, because temporary load affects both sides of a round.
    ...(beside && {
      ratio: {
        cpu: of((one) => one.cpu.total / one.beside.cpu.total),
        p50: of((one) => one.p50 / one.beside.p50),
        rate: of((one) => one.rate / one.beside.rate),
      },
    }),
  };
}

function row({ name, connections, label, rate, p50, p99, errors, wal, images, cpu, ratio }) {
  return [
    name,
    connections,
    label,
    rate.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
    errors,
    cpu.total.toFixed(0),
    ...parts.map((part) => (cpu[part] ? cpu[part].toFixed(0) : '')),
    wal.toFixed(0),
    images.toFixed(2),
    ...['cpu', 'p50', 'rate'].map((what) => ratio?.[what].toFixed(2) ?? ''),
  ];
}

function judgements(series) {
  const says = (what, is, isMet) => `- ${what}: ${is}: ${isMet ? 'met' : '**MISSED**'}`;
  const find = (one, label) =>
    series.find(
      (other) =>
        other.name === one.name && other.connections === one.connections && other.label === label,
    );
  const costs = Object.entries(targets).flatMap(([name, most]) => {
    const is = find({ name, connections: 16 }, '1 replica')?.ratio.cpu;
    const what = `CPU of "${name}", 16 in flight, at most ${most.toFixed(1)} times the floor`;
    return is === undefined ? [] : [says(what, is.toFixed(2), is <= most)];
  });
  const errors = series.reduce((sum, one) => sum + one.errors, 0);
  const slower = series
    .filter((one) => one.label === '2 replicas' && one.ratio)
    .map((one) => ({ one, is: one.ratio.rate / find(one, '1 replica').ratio.rate }))
    .filter(({ is }) => is < 1)
    .map(({ one, is }) => `${one.name} at ${one.connections} (${is.toFixed(2)})`);
  return [
    ...costs,
    says('errors', errors, errors === 0),
    says(
      '2 replicas have less throughput than 1, each relative to its floor',
      slower.join(', ') || 'never',
      slower.length === 0,
    ),
  ];
}
