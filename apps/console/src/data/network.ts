import { computed, signal } from '@preact/signals';
import { ApiError } from '#client';

/** Whether the browser says that there is a network; where it says so there may still be none. */
const hasNetwork = signal(navigator.onLine);
/** Whether the last request was answered. */
const isAnswered = signal(true);

/** Whether the server can be reached, as far as is known. */
export const isOnline = computed(() => hasNetwork.value && isAnswered.value);

const waiting = new Set<() => void>();
const letGo = () => {
  for (const go of waiting) go();
  waiting.clear();
};
addEventListener('offline', () => (hasNetwork.value = false));
addEventListener('online', () => {
  hasNetwork.value = true;
  letGo();
});

/** How long to wait before the server is tried again, in milliseconds, the more often it was tried. */
const waitMs = [2_000, 4_000, 8_000, 15_000];

/** Whether a request failed because the server is out of reach, has a fault, or something else answered in its place. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.isPassing || (error.code === 'unexpected' && error.status !== 501));
}

/**
 * Runs something until the server has answered it, however long that takes. What is refused is not tried again.
 *
 * @throws what `run` throws, but for what passes.
 */
export async function untilAnswered<T>(run: () => Promise<T>, stopped?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const result = await run();
      isAnswered.value = true;
      return result;
    } catch (error) {
      if (!isPassing(error)) {
        isAnswered.value = true;
        throw error;
      }
      isAnswered.value = false;
      await pause((waitMs[tries] ?? 30_000) * (0.5 + Math.random() / 2), stopped);
    }
  }
}

/** Waits so many milliseconds, or until the network comes back. @throws DOMException where the signal ends it. */
function pause(milliseconds: number, stopped?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    stopped?.throwIfAborted();
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      waiting.delete(done);
      stopped?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      done();
      reject(stopped?.reason as Error);
    }
    waiting.add(done);
    stopped?.addEventListener('abort', stop);
  });
}
