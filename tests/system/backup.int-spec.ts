import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removePostgres, removeRedis } from '#embedded';
import { callProgram, eventually, isRunning, LaunchedSystem, repository } from '#testing';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';

let root: string;
const running: LaunchedSystem[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'backup-'));
  // Postgres' user must reach the folder if root runs the tests.
  chmodSync(root, 0o711);
});
afterAll(async () => {
  for (const system of running) await system.stop();
  for (const name of ['first', 'second', 'third']) {
    await removeRedis(join(root, name, 'redis'));
    await removePostgres(join(root, name, 'postgres'));
  }
  rmSync(root, { recursive: true, force: true });
});

async function start(name: string): Promise<LaunchedSystem> {
  const system = await LaunchedSystem.start({ data: join(root, name) });
  running.push(system);
  return system;
}

const of = (name: string) => ['--data', join(root, name)];

describe('a backup of a running system', () => {
  it('is restored to a new data directory, with its data, accounts and keys', async () => {
    const first = await start('first');
    const run = (...args: string[]) => callProgram(podcastSync, args, {});
    const { stdout: password } = await run('token', 'ann', ...of('first'));
    const request = async (system: LaunchedSystem, method: string, body?: object) => {
      const response = await fetch(`${system.baseUrl}/subscriptions`, {
        method,
        headers: {
          authorization: `Bearer ${password.trim()}`,
          'content-type': 'application/json',
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const feed = { feed_url: 'https://podcast.example/feed' };
    expect(await request(first, 'POST', { subscriptions: [feed] })).toMatchObject({ status: 200 });
    const file = join(root, 'podcast-sync.backup');
    const written = await run('backup', file, ...of('first'));
    expect(written).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('with the keys') as string,
    });
    const busy = await run('restore', file, ...of('first'));
    expect(busy).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already runs') as string,
    });
    const before = await request(first, 'GET');
    await first.stop();

    const restored = await run('restore', file, ...of('second'));
    expect(restored).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('keys: restored') as string,
    });
    const second = await start('second');
    expect(await request(second, 'GET')).toEqual(before);
    for (const key of ['keys/account/signing-key.json', 'passwords/secrets-key'])
      expect(readFileSync(join(root, 'second', key), 'utf8')).toBe(
        readFileSync(join(root, 'first', key), 'utf8'),
      );
  });
});

describe('a restore', () => {
  it('stops the embedded Postgres on Ctrl-C, and releases the data directory', async () => {
    const data = join(root, 'third');
    const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
    // Waits for the backup on its standard input.
    const child = spawn(process.execPath, [program, 'restore', '-', ...of('third')], {
      env: { PATH: process.env.PATH },
    });
    const [stderr, ended] = [text(child.stderr), once(child, 'close')];
    try {
      const pid = await eventually(
        () => Number.parseInt(readFileSync(join(data, 'postgres/data/postmaster.pid'), 'utf8'), 10),
        { timeout: 60_000 },
      );
      expect(isRunning(pid)).toBe(true);
      child.kill('SIGINT');
      expect([await ended, await stderr]).toEqual([
        [1, null],
        expect.stringContaining('restore: stopped by SIGINT'),
      ]);
      expect(isRunning(pid)).toBe(false);
      expect(readdirSync(data)).toEqual(['postgres']);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
