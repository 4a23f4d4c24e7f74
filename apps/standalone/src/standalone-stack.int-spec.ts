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
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removePostgres, removeRedis, StartError } from '#embedded';
import { eventually, startPostgresServer, type TestServer } from '#testing';
import pg from 'pg';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import type { StandaloneOptions } from './standalone-options.js';
import { StandaloneStack } from './standalone-stack.js';
import type { Welcome } from './welcome-text.js';

/** Script of the stand-ins for apps, which log their start, readiness and stop. */
const standIn = `
const { appendFileSync } = require('node:fs');
const { pid, env } = process;
const note = (what) =>
  appendFileSync(EVENTS, JSON.stringify({ app: APP, what, pid, env }) + '\\n');
note('start');
const stop = () => { note('stop'); process.exit(0); };
process.on('SIGTERM', stop);
process.on('disconnect', stop);
process.send({ ready: true, facts: {} });
`;

interface Event {
  readonly app: string;
  readonly what: 'start' | 'stop';
  readonly pid: number;
  readonly env: Readonly<Record<string, string>>;
}

const { redisUrl } = inject('servers');
// Other files have connections of the same logins on the shared server.
let postgres: TestServer;
beforeAll(async () => (postgres = await startPostgresServer()));
afterAll(() => postgres.dispose());

let root: string;
let data: string;
let lines: string[];
let stacks: StandaloneStack[];

function prepare(): void {
  root = mkdtempSync(join(tmpdir(), 'standalone-stack-'));
  // Postgres' user must reach the folder if root runs the tests.
  chmodSync(root, 0o711);
  data = join(root, 'data');
  lines = [];
  stacks = [];
  for (const app of ['edge', 'subscription', 'episode', 'deletion-worker', 'feed'])
    replace(app, standIn);
  replace('migrate', standIn.replace(/process\.send.*/, 'process.exit(0)'));
  replace(
    'accounts',
    standIn.replace(/process\.send.*/, "console.log('the link'); process.exit(0)"),
  );
  replace('variables-check', "console.log('[]')");
  // Each command is a separate file.
  writeFileSync(join(root, 'programs', 'podcast-sync.js'), 'import(`./${process.argv[2]}.js`);');
}

async function remove(): Promise<void> {
  vi.unstubAllEnvs();
  for (const each of stacks) await each.stop();
  await removeRedis(join(data, 'redis'));
  await removePostgres(join(data, 'postgres'));
  rmSync(root, { recursive: true, force: true });
}

function replace(app: string, script: string): void {
  mkdirSync(join(root, 'programs'), { recursive: true });
  const [name, file] = [app, join(root, 'events')].map((text) => JSON.stringify(text));
  const constants = `const APP = ${name}, EVENTS = ${file};`;
  writeFileSync(join(root, 'programs', `${app}.js`), `${constants}\n${script}`);
}

function events(): Event[] {
  const file = join(root, 'events');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

function stack(options: Partial<StandaloneOptions> = {}) {
  const place = { port: 0, host: '127.0.0.1', publicUrl: undefined } as const;
  const defaults = { replicas: 1, ...place, data, LOG_LEVEL: 'info', feeds: 'off' } as const;
  const made = new StandaloneStack(
    { ...defaults, POSTGRES_URL: postgres.url, REDIS_URL: redisUrl, ...options },
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

describe('two runs on the same data', () => {
  const publicUrl = 'https://pods.example';
  let welcomes: Welcome[];
  let first: Event[];
  let second: Event[];
  beforeAll(async () => {
    prepare();
    vi.stubEnv('SESSION_KEY_FILE', '/nowhere');
    vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=512');
    const running = stack({ replicas: 2, FEEDS: 'fetched' });
    welcomes = [await running.start()];
    await running.stop();
    first = events();
    const again = stack({ feeds: undefined, FEEDS: 'pushed', publicUrl });
    welcomes.push(await again.start());
    await again.stop();
    second = events().slice(first.length);
  });
  afterAll(remove);

  const starts = (of: readonly Event[], name: string) =>
    of.filter(({ app, what }) => app === name && what === 'start').map(({ env }) => env);
  const environmentOf = (name: string) => starts(first, name)[0] ?? {};

  it('start with the migrations, and stop the edge before the services', () => {
    const order = first.map(({ app, what }) => `${what} ${app}`);
    const services = ['deletion-worker', 'episode', 'subscription'].flatMap((app) => [app, app]);
    expect(order[0]).toBe('start migrate');
    expect(order.slice(1, 9).toSorted()).toEqual(
      ['accounts', 'edge', ...services].map((app) => `start ${app}`).sort(),
    );
    expect(order[9]).toBe('stop edge');
    expect(order.slice(10).toSorted()).toEqual(services.map((app) => `stop ${app}`));
    expect([...first, ...second].every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('print the address and the link to create the first account', () => {
    const { PORT } = environmentOf('edge');
    const expected = { baseUrl: `http://127.0.0.1:${PORT}`, data, firstLink: 'the link' };
    expect(welcomes).toEqual([expected, { ...expected, baseUrl: publicUrl }]);
  });

  it('have the public origin of a proxy, and the feed service unless feeds are off', () => {
    expect(starts(first, 'feed')).toEqual([]);
    expect(environmentOf('edge')).toMatchObject({ FEEDS: 'off', PUBLIC_URL: '' });
    for (const app of ['feed', 'edge'])
      expect(starts(second, app)).toMatchObject([{ FEEDS: 'pushed', PUBLIC_URL: publicUrl }]);
  });

  it("give the edge the same keys each time, regardless of the shell's variables", () => {
    const { SESSION_KEY, SECRETS_KEY, KEYS_DIRECTORY = '' } = environmentOf('edge');
    expect([SESSION_KEY, SECRETS_KEY]).toEqual([
      expect.stringMatching(/^[\w-]{32,}$/),
      expect.stringMatching(/^[\w-]{32}$/),
    ]);
    expect(starts(second, 'edge')[0]).toMatchObject({ SESSION_KEY, SECRETS_KEY });
    expect(environmentOf('edge')).not.toHaveProperty('SESSION_KEY_FILE');
    expect(statSync(join(KEYS_DIRECTORY, 'signing-key.json')).mode & 0o777).toBe(0o600);
  });

  it("write the database URLs of operators' commands to private files", () => {
    const urlIn = (name: string) => {
      expect(statSync(join(data, name)).mode & 0o777).toBe(0o600);
      return readFileSync(join(data, name), 'utf8').trim();
    };
    expect(urlIn('deletions-database-url')).toBe(environmentOf('deletion-worker').DATABASE_URL);
    const dump = urlIn('dump-database-url');
    expect(new URL(dump).username).toBe('podcast_sync_dump');
    expect(environmentOf('migrate').DUMP_DATABASE_URL).toBe(dump);
  });

  it('give each app its own database role and only its variables', () => {
    for (const [app, role] of [
      ['subscription', 'podcast_sync_subscription'],
      ['episode', 'podcast_sync_episode'],
      ['deletion-worker', 'podcast_sync_deletion'],
      ['edge', 'podcast_sync_account'],
    ] as const) {
      const { DATABASE_URL = '', REDIS_URL } = environmentOf(app);
      expect(new URL(DATABASE_URL).username).toBe(role);
      expect(REDIS_URL).toBe(redisUrl);
      expect(Object.values(environmentOf('migrate'))).toContain(DATABASE_URL);
    }
    expect(environmentOf('migrate')).toMatchObject({ DATABASE_URL: postgres.url });
  });

  it('limit the heap of each app, unless NODE_OPTIONS overrides it', () => {
    const limits = new Set(first.map(({ env }) => env.NODE_OPTIONS));
    expect([...limits]).toEqual(['--max-old-space-size=384 --max-old-space-size=512']);
  });
});

describe('StandaloneStack', () => {
  beforeEach(prepare);
  afterEach(remove);

  it('restarts an app that ended and prints it; the edge keeps its port', async () => {
    const running = stack({ feeds: undefined });
    await running.start();
    const starts = () => events().filter(({ app, what }) => app === 'edge' && what === 'start');
    expect(starts()[0]?.env.FEEDS).toBe('fetched');
    process.kill(starts()[0]?.pid ?? 0, 'SIGKILL');
    await eventually(() => expect(lines).toContain('edge ready again'));
    expect(lines).toContain('edge ended (signal SIGKILL); restart in 0.5 s');
    expect(starts()[1]?.env.PORT).toBe(starts()[0]?.env.PORT);
    await running.stop();
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it.each([
    ['migrate', 'migrate failed (exit code 3)'],
    ['episode', 'episode did not start (exit code 3)'],
    ['accounts', 'accounts failed (exit code 3)'],
  ])('fails if %s fails, with its reason, and leaves no process', async (app, message) => {
    replace(app, 'console.error("this is why"); process.exit(3);');
    const failing = stack();
    await expect(failing.start()).rejects.toThrow(message);
    await failing.stop();
    expect(lines).toContain(`${app}: this is why`);
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('starts on another port if the chosen one is taken before its app listens', async () => {
    // The first edge waits until the test has taken its port, and then fails as if it were in use.
    const [first, taken] = [join(root, 'first'), join(root, 'taken')];
    const firstFails = standIn.replace(
      /process\.send.*/,
      `const { existsSync, writeFileSync } = require('node:fs');
      if (existsSync(${JSON.stringify(first)})) process.send({ ready: true, facts: {} });
      else {
        writeFileSync(${JSON.stringify(first)}, '');
        setInterval(() => { if (existsSync(${JSON.stringify(taken)})) process.exit(1); }, 10);
      }`,
    );
    replace('edge', firstFails);
    const started = stack().start();
    const edges = () => events().filter(({ app, what }) => app === 'edge' && what === 'start');
    await eventually(() => expect(edges()).toHaveLength(1));
    const other = createServer().listen(Number(edges()[0]?.env.PORT), '127.0.0.1');
    await once(other, 'listening');
    writeFileSync(taken, '');
    const { baseUrl } = await started;
    other.close();
    expect(edges()).toHaveLength(2);
    expect(baseUrl).toBe(`http://127.0.0.1:${edges()[1]?.env.PORT}`);
    expect(edges()[1]?.env.PORT).not.toBe(edges()[0]?.env.PORT);
  });

  it('can be stopped during its start', async () => {
    replace('subscription', standIn.replace(/process\.send.*/, 'setInterval(() => {}, 1000);'));
    const running = stack();
    const started = running.start().catch((error: unknown) => error);
    await eventually(() => expect(events().map(({ app }) => app)).toContain('subscription'));
    await running.stop();
    expect(await started).toBeInstanceOf(Error);
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('kills an app that does not stop', async () => {
    replace(
      'edge',
      standIn.replace(
        "process.on('SIGTERM', stop)",
        "process.on('SIGTERM', () => note('ignored'))",
      ),
    );
    const running = stack();
    await running.start();
    const stopped = running.stop();
    await eventually(() => expect(events().map(({ what }) => what)).toContain('ignored'));
    running.killApps();
    await stopped;
    expect(events().every(({ pid }) => isGone(pid))).toBe(true);
  });

  it('rejects a port in use before it starts or writes anything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const refused = stack({ port });
    await expect(refused.start()).rejects.toThrow(StartError);
    await expect(stack({ port }).start()).rejects.toThrow(
      `Port ${port} is in use by another program`,
    );
    await refused.stop();
    other.close();
    expect(existsSync(data)).toBe(false);
    expect(lines).toEqual([]);
  });

  it('rejects a server whose logins another database uses, before migrations', async () => {
    const login = Object.assign(new URL(postgres.url), { username: 'podcast_sync_episode' });
    const other = new pg.Client({ connectionString: login.href });
    await other.connect();
    const refused = stack({ POSTGRES_URL: new URL('/postgres', postgres.url).href });
    await expect(refused.start()).rejects.toThrow(
      /^POSTGRES_URL: .* podcast_sync_episode on the database podcast_sync /,
    );
    await refused.stop();
    expect(events()).toEqual([]);
    const same = stack();
    await same.start();
    await same.stop();
    await other.end();
  });

  it('starts embedded servers, and restarts a crashed Postgres at the same address', async () => {
    const running = stack({ POSTGRES_URL: undefined, REDIS_URL: undefined });
    await running.start();
    const pidFile = join(data, 'postgres', 'data', 'postmaster.pid');
    process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL');
    await eventually(() => expect(lines).toContain('Postgres ready again'), { timeout: 60_000 });
    const [pid, , , port] = readFileSync(pidFile, 'utf8').split('\n');
    const { DATABASE_URL = '' } = events()[0]?.env ?? {};
    expect(port).toBe(new URL(DATABASE_URL).port);
    await running.stop();
    expect(isGone(Number(pid))).toBe(true);
    expect(readdirSync(data)).not.toContain('lock');
  });
});
