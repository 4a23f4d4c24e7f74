import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, StartError } from '#embedded';

/** Matches command lines of processes that lock a data directory, since pids can be reused. */
const supervisorCommand = /podcast-sync(?:\.js)? (?:start|restore)\b/;

/**
 * Locks a data directory for this process. The lock of a killed process is ignored.
 *
 * @returns a function that releases the lock.
 * @throws StartError that names the process with the lock.
 */
export function lockData(directory: string): () => void {
  const lock = join(directory, 'lock');
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, `${process.pid}\n`);
  try {
    for (;;) {
      try {
        // A hard link appears atomically with its content, unlike a file that is being written.
        linkSync(own, lock);
        return () => rmSync(lock, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = Number.parseInt(readFileSync(lock, 'utf8'), 10);
      if (holder !== process.pid && supervisorCommand.test(commandLine(holder)))
        throw new StartError(
          `Podcast Sync already runs on ${directory} (process ${holder}). ` +
            'Stop it first, or choose another directory: npm start -- --data DIR',
        );
      rmSync(lock);
    }
  } finally {
    rmSync(own);
  }
}
