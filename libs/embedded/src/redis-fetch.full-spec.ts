import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { removeRedis, startRedis } from './index.js';

let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'embedded-redis-'));
  directory = join(root, 'redis');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await removeRedis(directory);
  rmSync(root, { recursive: true, force: true });
});

// Only on Debian and Ubuntu.
it("fetches the system's package once if none is installed", async () => {
  vi.stubEnv('PATH', pathWithoutRedis());
  const fetched = join(root, 'programs');
  const lines: string[] = [];
  const reportProgress = (line: string) => lines.push(line);
  const first = await startRedis({ directory, programs: fetched, reportProgress });
  await first.stop();
  const second = await startRedis({ directory, programs: fetched, reportProgress });
  await second.stop();
  expect(lines.filter((line) => line.startsWith('fetching'))).toHaveLength(1);
  expect(readdirSync(fetched)).toEqual(['redis-server']);
}, 120_000);

/** Returns a PATH with all programs of this machine except the servers. */
function pathWithoutRedis(): string {
  const folder = join(root, 'bin');
  mkdirSync(folder);
  for (const name of readdirSync('/usr/bin'))
    if (!/redis|valkey/.test(name)) symlinkSync(join('/usr/bin', name), join(folder, name));
  return folder;
}
