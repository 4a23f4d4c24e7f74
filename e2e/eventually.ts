import { setTimeout as delay } from 'node:timers/promises';

/** Repeats a check until it succeeds, for asynchronous effects. */
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
