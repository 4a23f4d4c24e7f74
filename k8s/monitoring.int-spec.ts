import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { failureCodes } from '#contracts';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';
import { expressionProblems, type Metrics, readMetrics } from './testing/expression.check.js';

interface Rule {
  alert: string;
  expr: string;
  annotations: Record<string, string>;
}
interface Panel {
  title: string;
  targets?: { expr: string; legendFormat: string }[];
}

const folder = 'k8s/components/monitoring';
const rulesFile = `${folder}/rules.yaml`;
const read = (file: string) => readFileSync(file, 'utf8');
const { spec } = parse(read(rulesFile)) as { spec: { groups: { rules: Rule[] }[] } };
const rules = spec.groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read(`${folder}/dashboards/podcast-sync.json`)) as { panels: Panel[] };
const targets = panels.flatMap(({ title, targets: all = [] }) => all.map((target) => ({ title, ...target })));

const apps = ['gateway', 'subscription', 'episode', 'deletion-worker', 'account', 'gpodder'] as const;
/** What a scrape adds to every metric, by prometheus.yml as by service-monitor.yaml. */
const scraped = { job: ['podcast-sync-ops'], app: apps, instance: [] };

let stack: AppStack;
let texts: string[];
let metrics: Metrics;

beforeAll(async () => {
  stack = await AppStack.open();
  const processes = await stack.start(apps, { OPS_PORT: '0', EVENTS: 'on' });
  await someTraffic(await stack.device(processes[0]!));
  const [accounts, gpodder] = processes.slice(-2);
  await someTokenRequest(accounts!);
  await someUpload(gpodder!);
  texts = await Promise.all(
    processes.map(async ({ facts }) => (await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/metrics`)).text()),
  );
  // Outcomes that this traffic has no reason to have.
  const outcomes = failureCodes.map((code) => `podcast_sync_rpc_handler_duration_seconds_count{outcome="${code}"} 0`);
  metrics = readMetrics([...texts, ...outcomes], scraped);
});
afterAll(() => stack.close());

/** One request of each kind, and a deletion to its end. */
async function someTraffic(device: Device): Promise<void> {
  const body = { subscriptions: [{ feed_url: 'https://podcast.example/1' }] };
  const added = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', { body });
  const path = `/subscriptions/${added.body.success[0]?.guid}`;
  await device.send('GET', '/episodes');
  const { body: accepted } = await device.send<{ deletion_id: number }>('DELETE', path);
  await eventually(async () =>
    expect((await device.send('GET', `/deletions/${accepted.deletion_id}`)).body).toMatchObject({ status: 'SUCCESS' }),
  );
}

/** One of an app that nobody knows. */
async function someTokenRequest({ facts }: AppProcess): Promise<void> {
  const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'nobody', refresh_token: 'none' });
  await fetch(`http://127.0.0.1:${String(facts['port'])}/token`, { method: 'POST', body });
}

/** One whose entry can't be used, of somebody with an app password. */
async function someUpload({ facts }: AppProcess): Promise<void> {
  const { name, password } = await stack.appPassword();
  const headers = { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
  const path = `/api/2/episodes/${name}.json`;
  const answer = await fetch(`http://127.0.0.1:${String(facts['port'])}${path}`, {
    method: 'POST',
    headers,
    body: '[1]',
  });
  expect(answer.status).toBe(200);
}

describe('alerts and dashboard', () => {
  it.each(rules)('$alert asks for what the apps show', ({ expr, annotations }) => {
    expect(expressionProblems(expr, metrics, Object.values(annotations))).toEqual([]);
  });

  it.each(targets)('the panel $title asks for what the apps show: $legendFormat', ({ expr, legendFormat }) => {
    expect(expressionProblems(expr, metrics, [legendFormat])).toEqual([]);
  });

  it.each([
    ['sum(rate(podcast_sync_http_requests_total[5m]))', 'there is no metric podcast_sync_http_requests_total'],
    ['podcast_sync_deletions_pending{queue="x"}', 'podcast_sync_deletions_pending has no label queue'],
    ['sum by (route) (podcast_sync_deletions_pending)', 'podcast_sync_deletions_pending has no label route'],
    ['podcast_sync_postgres_connections{state="wating"}', 'the label state is never wating'],
    ['up{app="worker"} == 0', 'the label app is never worker'],
    ['sum(podcast_sync_deletions_pending', 'is no PromQL at ""'],
    ['sum by (job) (up)', 'shows the label app, which its result does not have'],
  ])('a mistake is found: %s', (expression, problem) => {
    expect(expressionProblems(expression, metrics, ['{{app}}'])).toContain(problem);
  });

  it('no label of a metric is one that the scrape would rename', () => {
    const own = readMetrics(texts, {});
    // The build says its app as the scrape does.
    const clashes = [...own].flatMap(([name, labels]) =>
      [...labels.keys()].filter((label) => label in scraped && name !== 'podcast_sync_build_info'),
    );
    expect(clashes).toEqual([]);
  });
});

describe('the list of metrics in docs/operations.md', () => {
  it('has every metric of the apps, and no other', () => {
    const own = new Set(
      [...texts.join('\n').matchAll(/^# TYPE (podcast_sync_\w+) /gm)].map(([, name]) => name as string),
    );
    const listed = [...read('docs/operations.md').matchAll(/^\| `(podcast_sync_\w+)/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...own].sort());
  });
});
