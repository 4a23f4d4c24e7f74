import { computed, signal } from '@preact/signals';
import { ApiError } from '#client';

/** False if the browser reports no network. True does not guarantee a network. */
const hasNetwork = signal(navigator.onLine);
/** False after a transient error of a request, until the next response of the server. */
const isServerReachable = signal(true);

/** True if the server is reachable, as far as the page can tell. */
export const isOnline = computed(() => hasNetwork.value && isServerReachable.value);

/** Maximum delays before the first retries of a request, in milliseconds. */
const retryDelays = [2_000, 4_000, 8_000, 15_000];
/** Maximum delay before each later retry, in milliseconds. */
const maxRetryDelay = 30_000;

/** Functions that each end one current delay. Its request is then retried immediately. */
const endDelays = new Set<() => void>();
addEventListener('offline', () => (hasNetwork.value = false));
addEventListener('online', () => {
  hasNetwork.value = true;
  for (const endDelay of endDelays) endDelay();
});

/**
 * Returns true for transient errors (no connection, timeout, 408, 429, 5xx) and for responses of
 * proxies.
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof ApiError && (error.isTransient || error.code === 'unexpected');
}

/**
 * Runs a request and retries transient errors without limit.
 *
 * @returns the result of the first successful request.
 * @throws an error that is not transient, or the reason of the aborted signal.
 */
export async function retryUntilAnswered<T>(
  request: () => Promise<T>,
  abortSignal?: AbortSignal,
): Promise<T> {
  for (let retry = 0; ; retry++) {
    try {
      const result = await request();
      isServerReachable.value = true;
      return result;
    } catch (error) {
      if (!isRetryable(error)) {
        isServerReachable.value = true;
        throw error;
      }
      isServerReachable.value = false;
      const delay = retryDelays[retry] ?? maxRetryDelay;
      await delayRetry(delay * (0.5 + Math.random() / 2), abortSignal);
    }
  }
}

/** Waits some milliseconds or until the network returns. @throws the reason of the signal. */
function delayRetry(milliseconds: number, abortSignal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    abortSignal?.throwIfAborted();
    const timer = setTimeout(end, milliseconds);
    function end() {
      clearTimeout(timer);
      endDelays.delete(end);
      abortSignal?.removeEventListener('abort', abort);
      resolve();
    }
    function abort() {
      reject(abortSignal?.reason as Error);
      end();
    }
    endDelays.add(end);
    abortSignal?.addEventListener('abort', abort);
  });
}
