import { setImmediate as nextIteration } from 'node:timers/promises';

let lastSlot: Promise<void> = Promise.resolve();

/**
 * Resolves when the caller can parse a large document, or a slice of one. One call resolves per
 * event loop iteration of the process, in the order of the calls, so that parsing does not block
 * other requests.
 */
export function parsingSlot(): Promise<void> {
  lastSlot = lastSlot.then(() => nextIteration());
  return lastSlot;
}
