import { quantile, table } from '../report.mjs';

/** What CPU per request may be at most, as a ratio to the baseline with 16 in flight. */
const targets = { 'poll, nothing new': 2, 'page of 50 episodes': 1.6, 'POST of 30 episodes': 1.5 };

const head = ['case', 'in flight', 'what', 'requests/s', 'p50 ms', 'p99 ms', 'errors', 'CPU µs'];
const parts = ['baseline', 'gateway', 'services', 'Redis', 'Postgres'];
const ratios = ['CPU ratio', 'p50 ratio', 'requests/s ratio'];

/** One table of the medians of all rounds, and below it which targets were met. */
export function report(all) {
  const series = grouped(all).map(medians);
  const beside = (one, label) =>
    series.find((other) => other.name === one.name && other.connections === one.connections && other.label === label);
  const lines = series.map((one) => row(one, beside(one, 'baseline')));
  return [table([...head, ...parts, ...ratios], lines), '', ...judgements(series, beside)].join('\n');
}

/** The rounds of each case, in the order of the first one. */
function grouped(all) {
  const groups = new Map();
  for (const one of all) {
    const key = `${one.name}/${one.connections}/${one.label}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

function medians(rounds) {
  const of = (pick) => quantile(rounds.map(pick), 0.5);
  const { name, connections, label } = rounds[0];
  return {
    ...{ name, connections, label },
    rate: of((one) => one.rate),
    p50: of((one) => one.p50),
    p99: of((one) => one.p99),
    errors: rounds.reduce((sum, one) => sum + one.errors, 0),
    cpu: Object.fromEntries(['total', ...parts].map((part) => [part, of((one) => one.cpu[part] ?? 0)])),
  };
}

function row(one, baseline) {
  const { name, connections, label, rate, p50, p99, errors, cpu } = one;
  const isBaseline = one === baseline;
  const ratio = (own, other) => (isBaseline ? '' : (own / other).toFixed(2));
  return [
    ...[name, connections, label, rate.toFixed(0), p50.toFixed(2), p99.toFixed(2), errors, cpu.total.toFixed(0)],
    ...parts.map((part) => (cpu[part] ? cpu[part].toFixed(0) : '')),
    ...[ratio(cpu.total, baseline.cpu.total), ratio(p50, baseline.p50), ratio(rate, baseline.rate)],
  ];
}

function judgements(series, beside) {
  const says = (what, is, isMet) => `- ${what}: ${is}: ${isMet ? 'met' : '**MISSED**'}`;
  const costs = Object.entries(targets).flatMap(([name, most]) => {
    const one = series.find((each) => each.name === name && each.connections === 16 && each.label === '1 replica');
    if (!one) return [];
    const is = one.cpu.total / beside(one, 'baseline').cpu.total;
    return [
      says(`CPU of "${name}", 16 in flight, at most ${most.toFixed(1)} times the baseline`, is.toFixed(2), is <= most),
    ];
  });
  const errors = series.reduce((sum, one) => sum + one.errors, 0);
  const slower = series
    .filter((one) => one.label === '2 replicas')
    .map((one) => ({ one, is: one.rate / beside(one, '1 replica').rate }))
    .filter(({ is }) => is < 1)
    .map(({ one, is }) => `${one.name} at ${one.connections} (${is.toFixed(2)})`);
  return [
    ...costs,
    says('errors', errors, errors === 0),
    says('2 replicas do less than 1', slower.join(', ') || 'never', slower.length === 0),
  ];
}
