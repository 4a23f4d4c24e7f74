import { setImmediate as nextTick } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves when a large document of a client or publisher, or a slice of one, can be parsed: one
 * per event loop iteration of the process, in the order of the calls.
 */
export function parsingSlot(): Promise<void> {
  last = last.then(() => nextTick());
  return last;
}
