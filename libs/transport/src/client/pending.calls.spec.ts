import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Result } from '../wire/format.js';
import { PendingCalls } from './pending.calls.js';

const timedOut: Result = { error: 'timed out' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function pendingCalls(): PendingCalls {
  return new PendingCalls(timedOut, () => Date.now());
}

describe('PendingCalls', () => {
  it('settles a call by its reply, once', () => {
    const calls = pendingCalls();
    const settle = vi.fn();
    const id = calls.add(100, settle);
    expect(calls.settle(id, () => ({ value: 1 }))).toBe(true);
    expect(calls.settle(id, () => ({ value: 2 }))).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(settle.mock.calls).toEqual([[{ value: 1 }]]);
  });

  it('does not read a reply that nobody waits for', () => {
    const result = vi.fn();
    pendingCalls().settle('1', result);
    expect(result).not.toHaveBeenCalled();
  });

  it('times calls out, each by its own budget', () => {
    const calls = pendingCalls();
    const ended: string[] = [];
    calls.add(500, () => ended.push('long'));
    calls.add(100, () => ended.push('short'));
    vi.advanceTimersByTime(99);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(21);
    expect(ended).toEqual(['short']);
    vi.advanceTimersByTime(400);
    expect(ended).toEqual(['short', 'long']);
  });

  it('has one timer for all, and none when nothing waits', () => {
    const calls = pendingCalls();
    expect(vi.getTimerCount()).toBe(0);
    const ids = Array.from({ length: 100 }, () => calls.add(1_000, () => {}));
    expect(vi.getTimerCount()).toBe(1);
    for (const id of ids) calls.settle(id, () => ({}));
    vi.advanceTimersByTime(20);
    expect(vi.getTimerCount()).toBe(0);
    expect(calls.size).toBe(0);
  });

  it('settles all at once after a fault, but not those that are made meanwhile', () => {
    const calls = pendingCalls();
    const again = vi.fn();
    const first = vi.fn(() => void calls.add(100, again));
    calls.add(100, first);
    calls.settleAll({ error: 'lost' });
    expect(first).toHaveBeenCalledExactlyOnceWith({ error: 'lost' });
    expect(again).not.toHaveBeenCalled();
    expect(calls.size).toBe(1);
  });
});
