import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createApi } from './api.js';
import { Live } from './live.js';
import { memoryStore } from './store.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('sends changes 2 s after the last one, and 15 s after the first one of a player that never pauses', async () => {
  const syncs: number[] = [];
  const fetch = () => Promise.reject(new TypeError('away'));
  const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => '', fetch });
  const started = performance.now();
  const sync = async () => void syncs.push(performance.now() - started);
  const live = new Live({ api, store: memoryStore(), sync });
  live.start();
  live.soon();
  await vi.advanceTimersByTimeAsync(10_000);
  for (let second = 10; second < 50; second++) {
    live.soon();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  const stopped = live.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  await stopped;
  expect(syncs).toEqual([0, 2_000, 25_000, 40_000]);
});
