import { describe, expect, it, vi } from 'vitest';
import { RequestEnd } from './request-hooks.js';

describe('the end of a request', () => {
  it('calls each listener once, even if it is reached again', () => {
    const [end, listener] = [new RequestEnd(), vi.fn<() => void>()];
    end.onReached(listener);
    expect([end.reached, listener.mock.calls.length]).toEqual([false, 0]);
    end.reach();
    end.reach();
    expect([end.reached, listener.mock.calls.length]).toEqual([true, 1]);
  });

  it('calls no removed or later listener', () => {
    const [end, listener] = [new RequestEnd(), vi.fn<() => void>()];
    const takeOff = end.onReached(listener);
    takeOff();
    end.reach();
    end.onReached(listener);
    end.reach();
    expect(listener).not.toHaveBeenCalled();
  });

  it('does not call a listener that another one removed', () => {
    const [end, other] = [new RequestEnd(), vi.fn<() => void>()];
    end.onReached(() => takeOff());
    const takeOff = end.onReached(other);
    end.reach();
    expect(other).not.toHaveBeenCalled();
  });
});
