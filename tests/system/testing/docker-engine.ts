import { spawnSync } from 'node:child_process';

/** Returns the command of compose v2, or else of compose 1.29. @throws Error without an engine. */
export function composeCommand(): readonly [string, ...string[]] {
  const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  if (!succeeds('docker', 'version')) throw new Error('No Docker engine answers.');
  if (succeeds('docker', 'compose', 'version')) return ['docker', 'compose'];
  if (succeeds('docker-compose', 'version')) return ['docker-compose'];
  throw new Error('There is no docker-compose.');
}
