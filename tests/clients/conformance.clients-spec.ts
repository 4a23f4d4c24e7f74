import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removePostgres, removeRedis } from '#embedded';
import { LaunchedSystem, repository, startProgram } from '#testing';
import { DraftServer } from '../../conformance/testing/draft-server.js';
import { profiles as all } from '../../conformance/src/vector.js';

// The suite as others get it: packed, installed in an empty folder, and run from there.

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-conformance-'));
const server = new DraftServer(['one', 'two']);
let base = '';

beforeAll(async () => {
  await run(process.execPath, ['conformance/build.mjs'], { cwd: repository });
  const pack = ['pack', '--json', '--pack-destination', folder, './dist/conformance'];
  const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: repository })).stdout) as [
    { filename: string },
  ];
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  // Offline: a dependency would be missing.
  const install = ['install', '--offline', '--no-audit', '--no-fund', `./${filename}`];
  await run('npm', install, { cwd: folder });
  base = await server.start();
});
afterAll(() => {
  server.stop();
  rmSync(folder, { recursive: true });
});

/** Runs the command and returns its exit code with what it printed. */
async function suite(...options: string[]): Promise<{ code: number; out: string; err: string }> {
  const command = ['--offline', 'podcast-sync-conformance', ...options];
  const { code, stdout, stderr } = await run('npx', command, { cwd: folder }).then(
    (done) => ({ code: 0, ...done }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  return { code, out: stdout, err: stderr };
}

test('the packed suite runs from an empty folder and writes its reports', async () => {
  const target = ['--base', `${base}/`, '--token', 'one', '--token2', 'two'];
  const reports = ['--report', 'a.xml', '--report', 'a.html'];
  const profiles = ['--profile', 'deletions', '--profile', 'sync-guarantees'];
  const { code, out } = await suite(...target, ...profiles, ...reports);
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(/^PASS deletions.*\nPASS sync-guarantees.*, 0 skipped\n$/),
  });
  expect(readFileSync(join(folder, 'a.xml'), 'utf8')).toContain('<testsuite name="deletions"');
  expect(readFileSync(join(folder, 'a.html'), 'utf8')).toContain('<h1>Open Podcast API');
  expect(server.live()).toBe(0);
});

test('a system of npm start passes all profiles', async () => {
  const data = join(folder, 'data');
  // The user of Postgres must reach its data if root runs the tests.
  chmodSync(folder, 0o711);
  const system = await LaunchedSystem.start({ data });
  try {
    const tokens: string[] = [];
    for (const user of ['ann', 'ben']) {
      const { stdout } = await startProgram('podcast-sync', ['token', user, '--data', data], {});
      tokens.push(stdout.trim());
    }
    const [one = '', two = ''] = tokens;
    const target = ['--base', `${system.baseUrl}/v1`, '--token', one, '--token2', two];
    const { code, out } = await suite(...target, ...all.flatMap((name) => ['--profile', name]));
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^(PASS [a-z-]+ +\d+ passed, .*, 0 skipped\n){5}$/),
    });
  } finally {
    await system.stop();
    await removeRedis(join(data, 'redis'));
    await removePostgres(join(data, 'postgres'));
  }
});

test('a failure ends with 1 and its sentence', async () => {
  const target = ['--base', base, '--token', 'one'];
  const { code, out } = await suite(...target, '--vector', 'sync-timestamp');
  expect(code).toBe(1);
  expect(out).toContain('cites Podcast Sync: docs/reference/interface.md, "Lists": Each answer');
});

test.each([
  [['--token', 'one'], '--base'],
  [['--base', 'http://127.0.0.1:9'], '--token'],
  [['--base', 'http://127.0.0.1:9', '--token', 'one'], 'no answer to GET'],
  [['--base', 'http://127.0.0.1:9', '--token', 'one', '--profile', 'all'], 'profile all'],
  [['--base', 'http://127.0.0.1:9', '--token', 'one', '--vector', 'none'], 'vector none'],
  [['--base', 'http://127.0.0.1:9', '--token', 'one', '--report', 'a.txt'], '--report'],
  [['--base', 'http://127.0.0.1:9', '--token', 'one', '--color'], '--color'],
])('arguments that cannot be used end with 2: %j', async (options, message) => {
  const { code, out, err } = await suite(...options);
  expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringContaining(message) });
});

test('a rejected token ends with 2 before the first vector', async () => {
  const { code, err } = await suite('--base', base, '--token', 'three');
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('returned status 401: check --base and --token'),
  ]);
});
