import { setTimeout as delay } from 'node:timers/promises';

/**
 * Repeats a check every `interval` milliseconds until it succeeds, and returns its result. Replaces
 * sleeps in tests of asynchronous effects.
 *
 * @throws the last error of the check after `timeout` milliseconds.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeout = 20_000, interval = 25 }: { timeout?: number; interval?: number } = {},
): Promise<T> {
  const deadlineMs = performance.now() + timeout;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() >= deadlineMs) throw error;
      await delay(interval);
    }
  }
}
