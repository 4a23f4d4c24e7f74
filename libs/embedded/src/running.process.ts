import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, realpathSync } from 'node:fs';

/** Whether a process runs. One that has ended counts as gone, even while nobody has asked for its exit code. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return commandLine(pid) !== '';
}

/**
 * Whether a process runs and works on a directory: in it, or with its path among the arguments. Both are asked,
 * because an ordinary container hides the working directory of another user's process even from root, and because
 * a directory may have been moved since.
 */
export function worksOn(pid: number, directory: string): boolean {
  if (!isRunning(pid)) return false;
  const real = realpathSync(directory);
  if (commandLine(pid).includes(real)) return true;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === real;
  } catch {
    return false;
  }
}

/** The arguments of a process, joined by spaces; empty for one that has ended. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}
