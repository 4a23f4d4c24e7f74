import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createApi } from './api.js';
import { LiveSync } from './live-sync.js';
import { memoryStore } from './store.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('syncs 2 s after the last change, and at most 15 s after the first one', async () => {
  const syncs: number[] = [];
  const fetch = () => Promise.reject(new TypeError('unreachable'));
  const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => '', fetch });
  const started = performance.now();
  const sync = async () => void syncs.push(performance.now() - started);
  const live = new LiveSync({ api, store: memoryStore(), sync });
  live.start();
  live.scheduleSync();
  await vi.advanceTimersByTimeAsync(10_000);
  // A playing app stores its position each second.
  for (let second = 10; second < 50; second++) {
    live.scheduleSync();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  const stopped = live.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  await stopped;
  expect(syncs).toEqual([0, 2_000, 25_000, 40_000]);
});
