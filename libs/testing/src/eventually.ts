import { setTimeout as delay } from 'node:timers/promises';

/**
 * Runs a check until it no longer throws and returns what it returns: for what comes true at a time of its own,
 * where a sleep would be either too short or too long.
 *
 * @throws what the check threw last, once `timeout` milliseconds are over.
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
