import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns this process' heap in bytes after garbage collection. */
export function heapAfterGc(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
