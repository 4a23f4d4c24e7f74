import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, realpathSync } from 'node:fs';

/** Returns true if a process is running. A zombie counts as ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return commandLine(pid) !== '';
}

/**
 * Returns true if a process runs in a directory, or has the directory's path among its arguments.
 * Checks both: in a container even root cannot read the working directory of another user's
 * process, and after a move of the directory the arguments contain its old path.
 */
export function usesDirectory(pid: number, directory: string): boolean {
  if (!isRunning(pid)) return false;
  const realPath = realpathSync(directory);
  if (commandLine(pid).includes(realPath)) return true;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realPath;
  } catch {
    return false;
  }
}

/** Returns the arguments of a process, joined by spaces. Empty for an ended process. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], {
      encoding: 'utf8',
    }).stdout.trim();
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}
