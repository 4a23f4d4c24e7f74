import { setTimeout as delay } from 'node:timers/promises';

/**
 * Runs a check until it succeeds, and returns its result. It replaces sleeps in tests of
 * asynchronous effects.
 *
 * @throws the last error of the check after `timeout` milliseconds.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeout = 20_000, interval = 25 }: { timeout?: number; interval?: number } = {},
): Promise<T> {
  const limit = performance.now() + timeout;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() >= limit) throw error;
      await delay(interval);
    }
  }
}
