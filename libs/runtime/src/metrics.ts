import { collectDefaultMetrics, Counter, Gauge, register } from 'prom-client';

/** Buckets for durations of requests, in seconds: from a cached read to a deletion's cascade. */
export const secondsBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20,
];

/** Registers metrics of the process (CPU, memory, event loop, garbage collection) and build. */
export function registerProcessMetrics(app: string, version: string): void {
  // With the default precision of 10 ms, an idle process would wake up a hundred times a second.
  collectDefaultMetrics({ eventLoopMonitoringPrecision: 50 });
  const buildInfo = new Gauge({
    name: 'podcast_sync_build_info',
    help: '1, with the app and its version as labels.',
    labelNames: ['app', 'version'],
  });
  buildInfo.set({ app, version }, 1);
}

/** Returns the counter with this name; the first call in a process creates it. */
export function oneCounter<Label extends string>(
  name: string,
  help: string,
  labelNames: Label[],
): Counter<Label> {
  return (
    (register.getSingleMetric(name) as Counter<Label> | undefined) ??
    new Counter({ name, help, labelNames })
  );
}

/** Registers a counter with one label; `read` returns its total by label value at collection. */
export function registerCounterByLabel(
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): void {
  register.registerMetric(
    new Counter({
      registers: [],
      name,
      help,
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    }),
  );
}

/** Registers a gauge whose value `read` returns. Repeated calls with a name sum their values. */
export function registerGauge(name: string, help: string, read: MetricSource): void {
  registerSum(Gauge, name, help, read);
}

/** Registers a counter whose total `read` returns. Repeated calls with a name sum their totals. */
export function registerCounter(name: string, help: string, read: MetricSource): void {
  registerSum(Counter, name, help, read);
}

/** Returns the current value of a metric; `undefined` counts as 0. */
type MetricSource = () => number | undefined;

/** The functions that return the values of a metric, by the name of the metric. */
const metricSources = new Map<string, MetricSource[]>();

function registerSum(
  Metric: typeof Gauge | typeof Counter,
  name: string,
  help: string,
  read: MetricSource,
): void {
  const existingSources = register.getSingleMetric(name) && metricSources.get(name);
  if (existingSources) return void existingSources.push(read);
  const sources = [read];
  metricSources.set(name, sources);
  const metric = new Metric({
    registers: [],
    name,
    help,
    collect() {
      metric.reset();
      metric.inc(sources.reduce((sum, source) => sum + (source() ?? 0), 0));
    },
  });
  register.registerMetric(metric);
}
