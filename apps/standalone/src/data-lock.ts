import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, StartError } from '#embedded';

/** Matches command lines of processes that lock a data directory, since pids can be reused. */
const supervisorCommand = /podcast-sync(?:\.js)? (?:start|restore)\b/;

/**
 * Locks a data directory for this process. Replaces a lock whose process has ended.
 *
 * @param readCommand returns the command line of a process; empty for an ended one.
 * @returns a function that releases the lock.
 * @throws StartError that names the process with the lock.
 */
export function lockData(directory: string, readCommand = commandLine): () => void {
  const lockFile = join(directory, 'lock');
  const ownFile = `${lockFile}.${process.pid}`;
  writeFileSync(ownFile, `${process.pid}\n`);
  try {
    // A hard link appears atomically with its content, unlike a file that is being written.
    while (!tryOperation(() => linkSync(ownFile, lockFile), 'EEXIST')) {
      const content = readIfExists(lockFile);
      if (content === undefined) continue;
      const holderPid = Number.parseInt(content, 10);
      if (holderPid !== process.pid && supervisorCommand.test(readCommand(holderPid)))
        throw new StartError(
          `Podcast Sync already runs on ${directory} (process ${holderPid}). ` +
            'Stop it first, or choose another directory: npm start -- --data DIR',
        );
      removeStaleLock(lockFile, content);
    }
    return () => rmSync(lockFile, { force: true });
  } finally {
    rmSync(ownFile);
  }
}

/** Removes a stale lock with this content. Keeps the lock if another start has replaced it. */
function removeStaleLock(lockFile: string, content: string): void {
  const movedFile = `${lockFile}.${process.pid}.stale`;
  if (!tryOperation(() => renameSync(lockFile, movedFile), 'ENOENT')) return;
  // Restores the lock of another start. A link does not replace the lock of a third start.
  if (readIfExists(movedFile) !== content)
    tryOperation(() => linkSync(movedFile, lockFile), 'EEXIST');
  rmSync(movedFile);
}

function readIfExists(file: string): string | undefined {
  let content: string | undefined;
  tryOperation(() => (content = readFileSync(file, 'utf8')), 'ENOENT');
  return content;
}

/** Runs a file operation. @returns false after an error with the code. @throws other errors. */
function tryOperation(operation: () => void, expectedCode: string): boolean {
  try {
    operation();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === expectedCode) return false;
    throw error;
  }
}
