import { computed, signal } from '@preact/signals';
import { ApiError } from '#client';

/** False if the browser reports no network. If true, the network can still be unavailable. */
const hasNetwork = signal(navigator.onLine);
const isAnswered = signal(true);

/** True if the server is reachable, as far as the client can tell. */
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

const waitMs = [2_000, 4_000, 8_000, 15_000];

/** Returns true if a request can be retried: no connection, or no valid response of the server. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.isTransient || (error.code === 'unexpected' && error.status !== 501))
  );
}

/** Retries transient errors without limit. @throws other errors, or the reason of the signal. */
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

/** Waits some milliseconds, or until the network returns. @throws the reason of the signal. */
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
