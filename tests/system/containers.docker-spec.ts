import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composeCommand } from './testing/docker-engine.js';

const project = 'podcast-sync-test';
const programs = ['edge', 'subscription', 'episode', 'deletion-worker'];
const images = [...programs, 'feed', 'podcast-sync', 'e2e'].map(
  (name) => `podcast-sync/${name}:local`,
);

const [command, ...prefix] = composeCommand();
const absent = images.filter(
  (image) => spawnSync('docker', ['image', 'inspect', image]).status !== 0,
);
if (absent.length > 0)
  throw new Error(
    `Not built: ${absent.join(', ')} (docker-compose --profile e2e --profile tools build)`,
  );

const run = promisify(execFile);
/** Starts a separate compose project on a free port. */
const environment = { ...process.env, HTTP_PORT: '0', TAG: 'local', TEST_FULL: '' };

async function docker(...args: string[]): Promise<string> {
  return (await run('docker', args, { maxBuffer: 64e6 })).stdout.trim();
}

async function compose(...args: string[]): Promise<string> {
  const all = [...prefix, '-p', project, ...args];
  return (await run(command, all, { env: environment, maxBuffer: 64e6 })).stdout.trim();
}

const containersOf = async (service: string) =>
  (await compose('ps', '-q', service)).split('\n').filter(Boolean);

/** Waits until a container is healthy. */
function healthy(container: string): Promise<void> {
  const look = async () => {
    const health = await docker('inspect', '-f', '{{.State.Health.Status}}', container);
    if (health !== 'healthy') throw new Error(`${container} is ${health}`);
  };
  return eventually(look, { timeout: 120_000, interval: 500 });
}

/** Runs a module inside the edge's container: its port is reached there wherever the engine is. */
async function inEdge(script: string): Promise<unknown> {
  const [edge = ''] = await containersOf('edge');
  return JSON.parse(
    await docker('exec', edge, 'node', '--input-type=module', '-e', script),
  ) as unknown;
}

interface Call {
  path: string;
  token?: string;
  method?: string;
  body?: unknown;
}

/** The status that each call gets, and its path. */
function answers(requests: readonly Call[]): Promise<unknown> {
  return inEdge(`
    const answers = [];
    for (const { path, token, method, body } of ${JSON.stringify(requests)}) {
      const headers = {
        ...(token && { authorization: 'Bearer ' + token }),
        ...(body && { 'content-type': 'application/json' }),
      };
      const sent = { method, headers, body: body && JSON.stringify(body) };
      const answer = await fetch('http://127.0.0.1:3000' + path, sent);
      await answer.arrayBuffer();
      answers.push([answer.status, path.split('?')[0]]);
    }
    console.log(JSON.stringify(answers));`);
}

describe('the images', () => {
  beforeAll(async () => {
    await compose('up', '-d', '--no-build');
    for (const program of programs) {
      const containers = await containersOf(program);
      for (const container of containers) await healthy(container);
    }
  }, 300_000);

  afterAll(() => compose('down', '-v', '-t', '20'), 120_000);

  it('serve a request through each service, and lazily loaded parts', async () => {
    const token = await compose(
      'exec',
      '-T',
      'edge',
      'node',
      'dist/programs/podcast-sync.js',
      'token',
      'ann',
    );
    const guid = '9b024349-ccf0-5f69-a609-6b82873eab3c';
    const body = { subscriptions: [{ feed_url: 'https://podnews.net/rss' }] };
    const requests: Call[] = [
      { path: '/subscriptions', token, method: 'POST', body },
      { path: '/episodes', token },
      { path: `/subscriptions/${guid}`, token, method: 'DELETE' },
      ...[
        '/docs',
        '/docs/swagger-ui.css',
        '/docs/swagger-ui-bundle.js',
        '/docs/swagger-ui-standalone-preset.js',
      ].map((path) => ({ path })),
      { path: '/openapi.json' },
      { path: '/.well-known/jwks.json' },
      { path: '/sign-in' },
      { path: '/console/' },
      { path: '/clientconfig.json' },
    ];
    const statuses = requests.map(({ method, path }) => [method === 'DELETE' ? 202 : 200, path]);
    expect(await answers(requests)).toEqual(statuses);
  });

  it('have the commands for operators of deletions', async () => {
    const [worker = ''] = await containersOf('deletion-worker');
    const list = ['node', 'dist/programs/podcast-sync.js', 'deletions', 'list', '--json'];
    expect(JSON.parse(await docker('exec', worker, ...list))).toBeInstanceOf(Array);
  });

  it.each(programs)(
    'run %s as nobody in particular, without capabilities, on a root that can not be written',
    async (program) => {
      const [container = ''] = await containersOf(program);
      const script = `
      import { readFileSync, writeFileSync } from 'node:fs';
      const capabilities = /CapEff:\\s*(\\w+)/.exec(readFileSync('/proc/1/status', 'utf8'))[1];
      let written = 'EROFS';
      try { writeFileSync('/app/x', ''); written = 'written'; } catch ({ code }) { written = code; }
      console.log(JSON.stringify([process.getuid(), parseInt(capabilities, 16), written]));`;
      const seen = await docker('exec', container, 'node', '--input-type=module', '-e', script);
      expect(JSON.parse(seen)).toEqual([1_000, 0, 'EROFS']);
    },
  );

  it.each(programs)('have %s ready soon after it is started', async (program) => {
    const [container = ''] = await containersOf(program);
    await docker('restart', container);
    const started = Date.parse(await docker('inspect', '-f', '{{.State.StartedAt}}', container));
    const line = await eventually(
      async () => {
        const log = await docker('logs', '--since', String(Math.floor(started / 1_000)), container);
        return (
          log.split('\n').find((each) => each.includes('"msg":"app ready"')) ??
          Promise.reject(new Error('not ready'))
        );
      },
      { timeout: 60_000, interval: 200 },
    );
    const ms = Date.parse((JSON.parse(line) as { time: string }).time) - started;
    process.stdout.write(`${program}: ready ${ms} ms after the start of its container\n`);
    // About 2 s on a machine that does nothing else.
    expect(ms).toBeLessThan(10_000);
  });

  it('pass the end-to-end tests while each replica of each service is killed once', async () => {
    const services = ['subscription', 'episode', 'deletion-worker'];
    const replicas = (await Promise.all(services.map(containersOf))).flat();
    expect(replicas).toHaveLength(6);
    const killed = new AbortController();
    const kills = (async () => {
      for (const replica of replicas) {
        await docker('kill', '--signal', 'KILL', replica);
        await docker('start', replica);
        await healthy(replica);
      }
    })().finally(() => killed.abort());
    // Repeated until then, as one run can be shorter.
    const tests = (async () => {
      do await compose('run', '--rm', '--no-deps', 'e2e');
      while (!killed.signal.aborted);
      return '';
    })().catch(({ stdout }: { stdout: string }) => stdout.slice(-4_000));
    await kills;
    expect(await tests).toBe('');
  }, 900_000);
});
