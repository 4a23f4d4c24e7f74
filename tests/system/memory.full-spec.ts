import { spawnSync, type StdioOptions } from 'node:child_process';
import { repository } from '#testing';
import { expect, it } from 'vitest';

it('npm start needs no more memory than each process may have, and all together, a minute after it began', () => {
  const command = ['bench/memory/main.mjs', '--json'];
  // What it says of its progress, and why it failed, is in the log of the test.
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit'];
  const { stdout, status } = spawnSync(process.execPath, command, {
    cwd: repository,
    encoding: 'utf8',
    stdio,
  });
  expect(status).toBe(0);
  const processes = [
    'podcast-sync',
    'postgres',
    'redis-server',
    'edge',
    'subscription',
    'episode',
    'deletion-worker',
  ];
  expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining(processes));
}, 300_000);
