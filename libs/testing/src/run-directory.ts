import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { removePostgres, removeRedis } from '#embedded';

/** Folder of all test runs of this user. A run has a subfolder `<pid>-<tier>` for each tier. */
const runsFolder = join(tmpdir(), `podcast-sync-tests-${userInfo().uid}`);

/**
 * Creates the folder for the servers of one test run: Postgres in `postgres`, Redis in `redis`.
 * Removes the leftovers of killed runs first.
 */
export async function openRunDirectory(tier: string): Promise<string> {
  mkdirSync(runsFolder, { recursive: true });
  for (const name of readdirSync(runsFolder)) {
    const pid = Number.parseInt(name, 10);
    // Keeps the folders of other tiers of this run, because their servers are running.
    if (name === `${process.pid}-${tier}` || !isAlive(pid))
      await removeRunDirectory(join(runsFolder, name));
  }
  const directory = join(runsFolder, `${process.pid}-${tier}`);
  mkdirSync(directory);
  return directory;
}

/** Stops the servers that still run in the folder and removes it. */
export async function removeRunDirectory(directory: string): Promise<void> {
  await removeRedis(join(directory, 'redis'));
  await removePostgres(join(directory, 'postgres'));
  rmSync(directory, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
