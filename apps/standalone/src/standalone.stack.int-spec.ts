import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removePostgres, removeRedis, StartError } from '#embedded';
import { eventually } from '#testing';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { StandaloneStack } from './standalone.stack.js';

/** What the stand-ins for the apps do: they write down that they start, serve and stop. */
const standIn = `
const { appendFileSync } = require('node:fs');
const note = (what) => appendFileSync(EVENTS, JSON.stringify({ app: APP, what, pid: process.pid, env: process.env }) + '\\n');
note('start');
const stop = () => { note('stop'); process.exit(0); };
process.on('SIGTERM', stop);
process.on('disconnect', stop);
process.send({ ready: true, facts: APP === 'gateway' ? { port: 4711 } : {} });
`;

interface Event {
  readonly app: string;
  readonly what: 'start' | 'stop';
  readonly pid: number;
  readonly env: Readonly<Record<string, string>>;
}

const { templateUrl, redisUrl } = inject('servers');
let root: string;
let data: string;
let lines: string[];
let stacks: StandaloneStack[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'standalone-stack-'));
  // Reachable for the user that Postgres runs as when root runs the tests.
  chmodSync(root, 0o711);
  data = join(root, 'data');
  lines = [];
  stacks = [];
  for (const app of ['gateway', 'subscription', 'episode', 'deletion-worker']) replace(app, standIn);
  replace('migrate', standIn.replace(/process\.send.*/, 'process.exit(0)'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const each of stacks) await each.stop();
  await removeRedis(join(data, 'redis'));
  await removePostgres(join(data, 'postgres'));
  rmSync(root, { recursive: true, force: true });
});

function replace(app: string, script: string): void {
  mkdirSync(join(root, 'programs'), { recursive: true });
  const names = `const APP = ${JSON.stringify(app)}, EVENTS = ${JSON.stringify(join(root, 'events'))};`;
  writeFileSync(join(root, 'programs', `${app}.js`), `${names}\n${script}`);
}

function events(): Event[] {
  const file = join(root, 'events');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

/** A stack on the servers of the test run, unless told otherwise. */
function stack(options: { port?: number; replicas?: number; POSTGRES_URL?: string; REDIS_URL?: string } = {}) {
  const defaults = { replicas: 1, port: 0, host: '127.0.0.1', data, LOG_LEVEL: 'info' } as const;
  const made = new StandaloneStack(
    { ...defaults, POSTGRES_URL: templateUrl, REDIS_URL: redisUrl, ...options },
    (line) => lines.push(line),
    join(root, 'programs'),
  );
  stacks.push(made);
  return made;
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

describe('StandaloneStack', () => {
  it('starts migrations, services and gateway in this order, and stops them in the reverse one', async () => {
    const running = stack({ replicas: 2 });
    const welcome = await running.start();
    expect(welcome.baseUrl).toBe('http://127.0.0.1:4711');
    await running.stop();
    const order = events().map(({ app, what }) => `${what} ${app}`);
    const services = ['deletion-worker', 'deletion-worker', 'episode', 'episode', 'subscription', 'subscription'];
    expect(order[0]).toBe('start migrate');
    expect(order.slice(1, 7).toSorted()).toEqual(services.map((app) => `start ${app}`));
    expect(order.slice(7, 9)).toEqual(['start gateway', 'stop gateway']);
    expect(order.slice(9).toSorted()).toEqual(services.map((app) => `stop ${app}`));
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it("leaves the deletion worker's database where the operators' command looks, for this user's eyes only", async () => {
    const running = stack();
    await running.start();
    await running.stop();
    const worker = events().find(({ app }) => app === 'deletion-worker');
    const file = join(data, 'deletions-database-url');
    expect(readFileSync(file, 'utf8').trim()).toBe(worker?.env['DATABASE_URL']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('gives each app what it needs and no more: a service its own role, the gateway no database', async () => {
    const running = stack();
    await running.start();
    await running.stop();
    const environmentOf = (name: string) => events().find(({ app }) => app === name)?.env ?? {};
    for (const [app, role] of [
      ['subscription', 'podcast_sync_subscription'],
      ['episode', 'podcast_sync_episode'],
      ['deletion-worker', 'podcast_sync_deletion'],
    ] as const) {
      const { DATABASE_URL = '', REDIS_URL } = environmentOf(app);
      expect(new URL(DATABASE_URL).username).toBe(role);
      expect(REDIS_URL).toBe(redisUrl);
      expect(Object.values(environmentOf('migrate'))).toContain(DATABASE_URL);
    }
    expect(environmentOf('gateway')).toMatchObject({ REDIS_URL: redisUrl, HOST: '127.0.0.1', PORT: '0' });
    expect(Object.values(environmentOf('gateway')).join(' ')).not.toContain('postgres:');
    expect(environmentOf('migrate')).toMatchObject({ DATABASE_URL: templateUrl });
  });

  it("bounds the heap of each app, and leaves the last word to the person's own NODE_OPTIONS", async () => {
    vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=512');
    const running = stack();
    await running.start();
    await running.stop();
    const limits = new Set(events().map(({ env }) => env.NODE_OPTIONS));
    expect([...limits]).toEqual(['--max-old-space-size=384 --max-old-space-size=512']);
  });

  it('starts an app that died again and says so; a gateway keeps the port that it chose', async () => {
    const running = stack();
    await running.start();
    const starts = () => events().filter(({ app, what }) => app === 'gateway' && what === 'start');
    process.kill(starts()[0]?.pid ?? 0, 'SIGKILL');
    await eventually(() => expect(lines).toContain('gateway serves again'));
    expect(lines).toContain('gateway has ended (signal SIGKILL); starting it again in 0.5 s');
    expect(starts()[1]?.env.PORT).toBe('4711');
    await running.stop();
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it.each([
    ['migrate', 'migrate failed (exit code 3)'],
    ['episode', 'episode did not start (exit code 3)'],
  ])('fails when %s does, saying what it said, and leaves nothing running', async (app, message) => {
    replace(app, 'console.error("this is why"); process.exit(3);');
    const failing = stack();
    await expect(failing.start()).rejects.toThrow(message);
    await failing.stop();
    expect(lines).toContain(`${app}: this is why`);
    expect(events().map(({ app: name }) => name)).not.toContain('gateway');
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('stops in the middle of a start', async () => {
    replace('subscription', standIn.replace(/process\.send.*/, 'setInterval(() => {}, 1000);'));
    const running = stack();
    const started = running.start().catch((error: unknown) => error);
    await eventually(() => expect(events().map(({ app }) => app)).toContain('subscription'));
    await running.stop();
    expect(await started).toBeInstanceOf(Error);
    expect(events().map(({ app }) => app)).not.toContain('gateway');
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('ends by force an app that will not stop', async () => {
    replace('gateway', standIn.replace("process.on('SIGTERM', stop)", "process.on('SIGTERM', () => note('deaf'))"));
    const running = stack();
    await running.start();
    const stopped = running.stop();
    await eventually(() => expect(events().map(({ what }) => what)).toContain('deaf'));
    running.force();
    await stopped;
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('refuses a busy port before it starts or writes anything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await eventually(() => expect(other.listening).toBe(true));
    const { port } = other.address() as AddressInfo;
    const refused = stack({ port });
    await expect(refused.start()).rejects.toThrow(StartError);
    await expect(stack({ port }).start()).rejects.toThrow(`Port ${port} is in use by another program`);
    await refused.stop();
    other.close();
    expect(existsSync(data)).toBe(false);
    expect(lines).toEqual([]);
  });

  it('starts servers of its own, and a Postgres that crashed again under the same address', async () => {
    const running = stack({ POSTGRES_URL: undefined, REDIS_URL: undefined });
    await running.start();
    const pidFile = join(data, 'postgres', 'data', 'postmaster.pid');
    process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL');
    await eventually(() => expect(lines).toContain('Postgres serves again'), { timeout: 60_000 });
    const [pid, , , port] = readFileSync(pidFile, 'utf8').split('\n');
    const { DATABASE_URL = '' } = events()[0]?.env ?? {};
    expect(port).toBe(new URL(DATABASE_URL).port);
    await running.stop();
    expect(isGone(Number(pid))).toBe(true);
    expect(readdirSync(data)).not.toContain('lock');
  });
});
