import { setMaxListeners } from 'node:events';

/** A signal with a time limit. */
export interface LimitedSignal {
  readonly signal: AbortSignal;
  /** Ends the time limit and removes the listeners. Must be called when the work has ended. */
  readonly release: () => void;
}

/**
 * Returns a signal that aborts with the reason of the first of `sources` that aborts, or after
 * `limitMs` milliseconds with a `TimeoutError`.
 *
 * It replaces `AbortSignal.any` with `AbortSignal.timeout`: `AbortSignal.any` of Node 20 holds its
 * sources weakly. A garbage collection removes a timeout signal that has no other reference, and
 * its limit has no effect.
 */
export function createLimitedSignal(
  limitMs: number,
  sources: readonly AbortSignal[],
): LimitedSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, limitMs);
  const abort = () => controller.abort(sources.find(({ aborted }) => aborted)?.reason);
  for (const source of sources) {
    // The signal of a shutdown has a listener for each running call, without a limit.
    setMaxListeners(0, source);
    source.addEventListener('abort', abort);
    if (source.aborted) abort();
  }
  const release = () => {
    clearTimeout(timer);
    for (const source of sources) source.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}
