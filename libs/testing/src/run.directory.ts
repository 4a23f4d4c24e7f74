import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { removePostgres, removeRedis } from '#embedded';

/** All test runs of this user, each in a folder named `<pid of the run>-<tier>`. */
const runs = join(tmpdir(), `podcast-sync-tests-${userInfo().uid}`);

/**
 * Creates the folder for the servers of one test run: Postgres in `postgres`, Redis in `redis`.
 * Removes the leftovers of killed runs first.
 */
export async function openRunDirectory(tier: string): Promise<string> {
  mkdirSync(runs, { recursive: true });
  for (const name of readdirSync(runs)) {
    const pid = Number.parseInt(name, 10);
    // Of this process, only the tier's own folder: the other tier's servers run concurrently.
    if (name === `${process.pid}-${tier}` || !isAlive(pid))
      await removeRunDirectory(join(runs, name));
  }
  const directory = join(runs, `${process.pid}-${tier}`);
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
