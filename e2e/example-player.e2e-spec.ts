import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { baseUrl, token } from './stack.js';

const program = 'docs/examples/player.mjs';
const folder = mkdtempSync(join(tmpdir(), 'example-player-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the example app on the SDK works offline, syncs and shows remote changes', async () => {
  const feed = 'https://podnews.net/rss';
  const environment = { PATH: process.env['PATH'], API: baseUrl, TOKEN: await token() };
  const run = async (device: string, args: string[], env: object = {}) => {
    const options = { env: { ...environment, ...env } };
    return (await promisify(execFile)('node', [program, join(folder, device), ...args], options))
      .stdout;
  };
  // No server listens on this port.
  const offline = await run('phone.json', ['play', feed, 'one', '90'], {
    API: 'http://127.0.0.1:9',
  });
  expect(offline).toBe(`● ${feed} (not sent yet)\n    one: 90 s\n`);

  const watching = spawn('node', [program, join(folder, 'laptop.json'), 'watch'], {
    env: environment,
  });
  let shown = '';
  watching.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  try {
    expect(await run('phone.json', ['play', feed, 'one', '120'])).toBe(
      `● ${feed}\n    one: 120 s\n`,
    );
    await eventually(async () => expect(shown).toContain(`● ${feed}\n    one: 120 s\n`));
  } finally {
    watching.kill('SIGINT');
  }
  // The app stops automatically.
  const code = await new Promise((resolve) => watching.once('exit', resolve));
  expect(code).toBe(0);
});

test('the example app has sixty lines', () => {
  expect(readFileSync(program, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});
