import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { failureCodes } from '#contracts';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';

const read = (file: string) => readFileSync(file, 'utf8');
const { groups } = parse(read('k8s/chart/files/rules.yaml')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read('k8s/chart/files/dashboard.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
const targets = panels.flatMap(({ title, targets: all = [] }) =>
  all.map(({ expr }) => ({ title, expr })),
);

const apps = [
  'gateway',
  'subscription',
  'episode',
  'deletion-worker',
  'feed',
  'account',
  'gpodder',
] as const;
/** Labels that a scrape adds to every metric (prometheus.yml and service-monitor.yaml). */
const scraped = ['job', 'app', 'instance'];

let stack: AppStack;
let texts: string[];
/** Returns every series of the apps, as `name{label="value",...} value`. */
let series: string[];

beforeAll(async () => {
  stack = await AppStack.open();
  const processes = await stack.start(apps, { OPS_PORT: '0', EVENTS: 'on' });
  await someTraffic(await stack.device(processes[0]!));
  const [accounts, gpodder] = processes.slice(-2);
  await someTokenRequest(accounts!);
  await someUpload(gpodder!);
  texts = await Promise.all(
    processes.map(async ({ facts }) =>
      (await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/metrics`)).text(),
    ),
  );
  // Outcomes that this traffic does not cause.
  const outcomes = failureCodes.map(
    (code) => `podcast_sync_rpc_handler_duration_seconds_count{outcome="${code}"} 0`,
  );
  series = [
    ...texts
      .join('\n')
      .split('\n')
      .filter((line) => !line.startsWith('#')),
    ...outcomes,
  ];
});
afterAll(() => stack.close());

/** Sends a request of each kind, and waits for the end of a deletion. */
async function someTraffic(device: Device): Promise<void> {
  const body = { subscriptions: [{ feed_url: 'https://podcast.example/1' }] };
  const added = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body,
  });
  const path = `/subscriptions/${added.body.success[0]?.guid}`;
  await device.send('GET', '/episodes');
  const { body: accepted } = await device.send<{ deletion_id: number }>('DELETE', path);
  await eventually(async () =>
    expect((await device.send('GET', `/deletions/${accepted.deletion_id}`)).body).toMatchObject({
      status: 'SUCCESS',
    }),
  );
}

/** Sends a request of an unknown client. */
async function someTokenRequest({ facts }: AppProcess): Promise<void> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: 'nobody',
    refresh_token: 'none',
  });
  await fetch(`http://127.0.0.1:${String(facts['port'])}/token`, { method: 'POST', body });
}

/** Sends a request with an invalid entry, with an app password. */
async function someUpload({ facts }: AppProcess): Promise<void> {
  const { name, password } = await stack.appPassword();
  const headers = {
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  };
  const path = `/api/2/episodes/${name}.json`;
  const answer = await fetch(`http://127.0.0.1:${String(facts['port'])}${path}`, {
    method: 'POST',
    headers,
    body: '[1]',
  });
  expect(answer.status).toBe(200);
}

/** Returns metrics and labels of a PromQL expression that no app exports, such as renamed ones. */
function unknownIn(expression: string): string[] {
  const selectors = [
    ...expression.matchAll(/\b(podcast_sync_\w+|nodejs_\w+|process_\w+)(?:\{(.*?)\})?/g),
  ];
  return selectors.flatMap(([selector, name, matchers = '']) => {
    const shown = series.filter(
      (line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `),
    );
    const labels = [...matchers.matchAll(/(\w+)(=|!=|=~|!~)("[^"]*")/g)].filter(
      ([, label]) => !scraped.includes(label!),
    );
    // Only plain values are compared: a regular expression can name values that do not exist yet.
    const wanted = labels.map(
      ([, label, operator, value]) => `${label}=${operator === '=' ? value : '"'}`,
    );
    return shown.some((line) => wanted.every((text) => line.includes(text))) ? [] : [selector];
  });
}

describe('alerts and dashboard', () => {
  it.each([...rules.map(({ alert, expr }) => ({ title: alert, expr })), ...targets])(
    '$title uses exported metrics: $expr',
    ({ expr }) => {
      expect(unknownIn(expr)).toEqual([]);
    },
  );

  it.each([
    'sum(rate(podcast_sync_http_requests_total[5m]))',
    'podcast_sync_deletions_pending{queue="x"}',
    'podcast_sync_postgres_connections{state="wating"}',
  ])('detects an error: %s', (expression) => {
    expect(unknownIn(expression)).toHaveLength(1);
  });

  it('exports no label that a scrape would rename', () => {
    // The build has the same label `app` as the scrape.
    const own = series.filter((line) => !line.startsWith('podcast_sync_build_info'));
    expect(own.filter((line) => /[{,](job|app|instance)="/.test(line))).toEqual([]);
  });
});

describe('the list of metrics in docs/reference/metrics.md', () => {
  it('has all metrics of the apps and no others', () => {
    const own = new Set(
      [...texts.join('\n').matchAll(/^# TYPE (podcast_sync_\w+) /gm)].map(
        ([, name]) => name as string,
      ),
    );
    const listed = [...read('docs/reference/metrics.md').matchAll(/^\| `(podcast_sync_\w+)/gm)].map(
      ([, name]) => name,
    );
    expect(listed.sort()).toEqual([...own].sort());
  });
});
