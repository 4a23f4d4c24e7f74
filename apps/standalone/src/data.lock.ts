import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, StartError } from '#embedded';

/** Part of the command line of every process that takes this lock: its pid may be another program's by now. */
const supervisor = /podcast-sync(?:\.js)? start\b/;

/**
 * Makes this process the only one that works on a data directory until the returned function is called. The lock of
 * a process that was killed counts for nothing.
 *
 * @throws StartError naming the process that works there.
 */
export function lockData(directory: string): () => void {
  const lock = join(directory, 'lock');
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, `${process.pid}\n`);
  try {
    for (;;) {
      try {
        // Unlike a write, a link is there with its content or not at all.
        linkSync(own, lock);
        return () => rmSync(lock, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = Number.parseInt(readFileSync(lock, 'utf8'), 10);
      if (holder !== process.pid && supervisor.test(commandLine(holder)))
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
