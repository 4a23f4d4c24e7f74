import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeldBytes } from './held.bytes.js';
import { RequestEnd } from './request.end.js';

const most = 1_000;

/** One request of a user: what it holds, until it ends. */
function request(held: HeldBytes, user: string) {
  const end = new RequestEnd();
  const hold = held.forRequest(user, end);
  const tries = (bytes: number) => {
    try {
      hold(bytes);
      return true;
    } catch {
      return false;
    }
  };
  return { hold: tries, end: () => end.reach() };
}

describe('the bytes that requests hold', () => {
  it('of one user are at most a quarter', () => {
    const held = new HeldBytes(most, 10);
    const [first, second] = [request(held, 'ann'), request(held, 'ann')];
    expect([first.hold(200), second.hold(50), second.hold(1)]).toEqual([true, true, false]);
    first.end();
    expect(second.hold(200)).toBe(true);
  });

  it('are given back when a response ends, and none is held for it afterwards', () => {
    const held = new HeldBytes(most, 10);
    const one = request(held, 'ann');
    expect([one.hold(100), held.held]).toEqual([true, 100]);
    one.end();
    expect([held.held, one.hold(1)]).toEqual([0, false]);
  });

  it('are none of a request that has ended before', () => {
    const held = new HeldBytes(most, 10);
    const end = new RequestEnd();
    end.reach();
    expect(() => held.forRequest('ann', end)).toThrowError('unavailable');
    expect(held.held).toBe(0);
  });

  it('count also where there is no room for what is there already, and refuse what comes next', () => {
    const held = new HeldBytes(most, 10);
    const end = new RequestEnd();
    held.forRequest('ann', end)(400, true);
    expect([held.held, request(held, 'ann').hold(1)]).toEqual([400, false]);
    end.reach();
    expect([held.held, request(held, 'ann').hold(1)]).toEqual([0, true]);
  });

  it('belong to at most so many requests of one user: one more is refused at once', () => {
    const held = new HeldBytes(most, 2);
    const first = request(held, 'ann');
    request(held, 'ann');
    expect(() => request(held, 'ann')).toThrowError('unavailable');
    expect(request(held, 'bob').hold(1)).toBe(true);
    first.end();
    expect(request(held, 'ann').hold(1)).toBe(true);
  });

  it('leave room for one who comes with little, however many take all they can', () => {
    const held = new HeldBytes(most, 10);
    const quiet: boolean[] = [];
    for (let user = 0; user < 5; user++) {
      const greedy = request(held, `greedy ${user}`);
      for (let bytes = 256; bytes >= 1; bytes /= 2) greedy.hold(bytes);
      quiet.push(request(held, `quiet ${user}`).hold(10));
    }
    expect(quiet).toEqual([true, true, true, true, true]);
    expect(held.held).toBeLessThanOrEqual(most);
  });

  it('are never more than all may hold, whatever comes in whatever order', () => {
    const step = fc.record({ user: fc.nat(3), bytes: fc.nat(400), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const held = new HeldBytes(most, 100);
        const open: ReturnType<typeof request>[] = [];
        for (const { user, bytes, ends } of steps) {
          const one = request(held, String(user));
          one.hold(bytes);
          open.push(one);
          if (ends) open.shift()?.end();
          expect(held.held).toBeGreaterThanOrEqual(0);
          expect(held.held).toBeLessThanOrEqual(most);
        }
        for (const one of open) one.end();
        expect(held.held).toBe(0);
      }),
    );
  });
});
