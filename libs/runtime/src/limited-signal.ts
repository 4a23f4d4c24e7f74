import { setMaxListeners } from 'node:events';

/** A signal with a time limit. */
export interface LimitedSignal {
  readonly signal: AbortSignal;
  /** Stops the timer and removes the listeners. Must be called when the work has ended. */
  readonly release: () => void;
}

/**
 * Returns a signal that aborts with the reason of the first of `sources` that aborts, or after
 * `limitMs` milliseconds with a `TimeoutError`.
 *
 * `AbortSignal.any` with an `AbortSignal.timeout` does not suffice. In Node 20, `any` holds its
 * sources weakly, so a garbage collection can remove the timeout, which then has no effect.
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
    // Disables Node's warning of a leak, as each running call adds a listener to a stop signal.
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
