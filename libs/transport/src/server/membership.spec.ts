import { describe, expect, it } from 'vitest';
import { RedisClock } from './membership.js';

/** A machine whose monotonic clock the test sets; Redis' time is `ahead` of it. */
function machine(ahead: number) {
  const state = { monotonic: 0, ahead };
  const clock = new RedisClock(() => state.monotonic);
  return {
    clock,
    state,
    /** Samples Redis' time, read `thereMs` after the request and `backMs` before the answer. */
    ask(thereMs: number, backMs: number): void {
      const asked = state.monotonic;
      const said = Math.floor(asked + thereMs + state.ahead);
      state.monotonic += thereMs + backMs;
      clock.addSample(said, asked, state.monotonic);
    },
    error: () => clock.now() - (state.monotonic + state.ahead),
  };
}

describe('RedisClock', () => {
  it('returns NaN before the first answer', () => {
    const { clock } = machine(0);
    expect(clock.now()).toBeNaN();
  });

  it('is as exact as the round trip', () => {
    const { ask, error, state } = machine(1_700_000_000_000);
    ask(2, 2);
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
    state.monotonic += 5_000;
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
  });

  it('ignores a sample of an answer that was seconds late', () => {
    const { ask, error, state } = machine(1_700_000_000_000);
    ask(1, 1);
    state.monotonic += 500;
    ask(3_000, 0);
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
  });

  it('accepts any sample after 10 s without a better one', () => {
    const { ask, error, state } = machine(0);
    ask(1, 1);
    state.monotonic += 10_000;
    state.ahead += 20;
    ask(100, 0);
    expect(error()).toBeCloseTo(50, 0);
  });

  it.each([600_000, -600_000, 50])("follows a jump of Redis' time by %d ms immediately", (step) => {
    const { ask, error, state } = machine(1_700_000_000_000);
    ask(1, 1);
    state.monotonic += 500;
    state.ahead += step;
    ask(4, 4);
    expect(Math.abs(error())).toBeLessThanOrEqual(5);
  });

  it('returns the answer', async () => {
    const { clock } = machine(0);
    expect(
      await clock.sampleFrom(
        async () => [42, 'x'] as const,
        ([now]) => now,
      ),
    ).toEqual([42, 'x']);
    expect(clock.now()).toBe(42);
  });
});
