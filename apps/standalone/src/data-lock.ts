import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, StartError } from '#embedded';

/** Matches command lines of processes that lock a data directory, since pids can be reused. */
const supervisorCommand = /podcast-sync(?:\.js)? (?:start|restore)\b/;

/**
 * Locks a data directory for this process. The lock of a killed process is ignored.
 *
 * @param readCommand returns the command line of a process; empty for an ended one.
 * @returns a function that releases the lock.
 * @throws StartError that names the process with the lock.
 */
export function lockData(directory: string, readCommand = commandLine): () => void {
  const lock = join(directory, 'lock');
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, `${process.pid}\n`);
  try {
    // A hard link appears atomically with its content, unlike a file that is being written.
    while (!succeeds(() => linkSync(own, lock), 'EEXIST')) {
      const content = readIfExists(lock);
      if (content === undefined) continue;
      const holder = Number.parseInt(content, 10);
      if (holder !== process.pid && supervisorCommand.test(readCommand(holder)))
        throw new StartError(
          `Podcast Sync already runs on ${directory} (process ${holder}). ` +
            'Stop it first, or choose another directory: npm start -- --data DIR',
        );
      removeStaleLock(lock, content);
    }
    return () => rmSync(lock, { force: true });
  } finally {
    rmSync(own);
  }
}

/** Removes a lock, but not one with which another start has replaced it since it was read. */
function removeStaleLock(lock: string, content: string): void {
  const taken = `${lock}.${process.pid}.stale`;
  if (!succeeds(() => renameSync(lock, taken), 'ENOENT')) return;
  // A link never replaces the lock of a third start.
  if (readIfExists(taken) !== content) succeeds(() => linkSync(taken, lock), 'EEXIST');
  rmSync(taken);
}

function readIfExists(file: string): string | undefined {
  let content: string | undefined;
  succeeds(() => (content = readFileSync(file, 'utf8')), 'ENOENT');
  return content;
}

/** Runs a file operation. @returns false if it fails with the code. @throws every other error. */
function succeeds(operation: () => void, code: string): boolean {
  try {
    operation();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false;
    throw error;
  }
}
