import { setImmediate as tick } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withTimeLimit } from './time-limit.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

it('settles like a promise that is in time, and clears its timer', async () => {
  expect(await withTimeLimit(Promise.resolve(1), 10)).toBe(1);
  await expect(withTimeLimit(Promise.reject(new Error('no')), 10)).rejects.toThrow('no');
  expect(vi.getTimerCount()).toBe(0);
});

it.each([
  [undefined, 'no answer within 10 ms'],
  [() => new Error('too late'), 'too late'],
])('rejects after the time limit, and ignores the later outcome', async (late, message) => {
  let fail!: (error: Error) => void;
  const limited = withTimeLimit(new Promise((_, reject) => (fail = reject)), 10, late);
  vi.advanceTimersByTime(10);
  await expect(limited).rejects.toThrow(message);
  fail(new Error('ignored: as an unhandled rejection it would fail this test'));
  await tick();
});

it('rejects immediately without remaining time', async () => {
  const limited = withTimeLimit(new Promise(() => {}), -5);
  vi.advanceTimersByTime(1);
  await expect(limited).rejects.toThrow('within -5 ms');
});
