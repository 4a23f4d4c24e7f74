import { setTimeout as delay } from 'node:timers/promises';

/** Runs a check until it holds, for what becomes true at a time of its own. */
export async function eventually<T>(
  check: () => Promise<T>,
  { timeout = 15_000 } = {},
): Promise<T> {
  const limit = performance.now() + timeout;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() >= limit) throw error;
      await delay(20);
    }
  }
}
