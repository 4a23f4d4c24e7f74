import { describe, expect, it, vi } from 'vitest';
import { RequestEnd } from './request.end.js';

describe('the end of a request', () => {
  it('calls each listener once, however often it is reached', () => {
    const [end, listener] = [new RequestEnd(), vi.fn<() => void>()];
    end.onReached(listener);
    expect([end.reached, listener.mock.calls.length]).toEqual([false, 0]);
    end.reach();
    end.reach();
    expect([end.reached, listener.mock.calls.length]).toEqual([true, 1]);
  });

  it('calls nobody who was taken off before, or came afterwards', () => {
    const [end, listener] = [new RequestEnd(), vi.fn<() => void>()];
    const takeOff = end.onReached(listener);
    takeOff();
    end.reach();
    end.onReached(listener);
    end.reach();
    expect(listener).not.toHaveBeenCalled();
  });

  it('lets a listener take off another one, which is not called then', () => {
    const [end, other] = [new RequestEnd(), vi.fn<() => void>()];
    end.onReached(() => takeOff());
    const takeOff = end.onReached(other);
    end.reach();
    expect(other).not.toHaveBeenCalled();
  });
});
