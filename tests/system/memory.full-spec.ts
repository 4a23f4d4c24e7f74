import { spawnSync, type StdioOptions } from 'node:child_process';
import { repository } from '#testing';
import { expect, it } from 'vitest';

it('npm start stays within the memory of each process and of all together', () => {
  const command = ['bench/memory/main.mjs', '--json'];
  // The log of the test shows its progress and the reason of a failure.
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
    'gateway',
    'gpodder',
    'subscription',
    'episode',
    'account',
  ];
  expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining(processes));
}, 300_000);
