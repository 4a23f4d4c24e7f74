import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { FairScheduler } from './scheduling.js';

describe('requests of one user', () => {
  it('begin four in each tick, in their order', async () => {
    const scheduler = new FairScheduler();
    const begun: number[] = [];
    for (let n = 0; n < 10; n++) scheduler.begin('ann', () => begun.push(n));
    const seen = [begun.length];
    for (let ticks = 0; ticks < 3; ticks++) {
      await nextTick();
      seen.push(begun.length);
    }
    expect(seen).toEqual([4, 8, 10, 10]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('hold up no other user', () => {
    const scheduler = new FairScheduler();
    const begun: string[] = [];
    for (let n = 0; n < 100; n++) scheduler.begin('ann', () => begun.push('ann'));
    scheduler.begin('bob', () => begun.push('bob'));
    expect(begun).toEqual(['ann', 'ann', 'ann', 'ann', 'bob']);
  });

  it('are refused at once where many wait already, and leave places for another user', async () => {
    const scheduler = new FairScheduler();
    let begun = 0;
    const begin = (user: string, count: number) =>
      Array.from({ length: count }, () => scheduler.begin(user, () => (begun += 1))).filter(Boolean).length;
    const ann = begin('ann', 3_000);
    expect(ann).toBeLessThan(2_000);
    expect(begin('bob', 300)).toBe(300);
    // Places are given back.
    await eventually(() => expect(begun).toBe(ann + 300));
    expect(begin('ann', 1_000)).toBe(1_000);
  });

  it('of very many users do not begin all in one tick, and the users take turns', async () => {
    const scheduler = new FairScheduler();
    const begun: number[] = [];
    for (let n = 0; n < 800; n++) scheduler.begin(`${n % 100}`, () => begun.push(n % 100));
    for (let ticks = 1; begun.length < 800; ticks++) {
      expect(begun.length).toBeLessThanOrEqual(64 * ticks);
      await nextTick();
    }
    // Everybody had a turn before anybody had a third.
    expect(new Set(begun.slice(0, 464)).size).toBe(100);
  });

  it('begin at once again in a later tick', async () => {
    const scheduler = new FairScheduler();
    let begun = 0;
    const four = () => [1, 2, 3, 4].forEach(() => scheduler.begin('ann', () => (begun += 1)));
    four();
    await nextTick();
    four();
    expect(begun).toBe(8);
  });

  it('wait while a connection comes in each tick, for twenty milliseconds at a time', async () => {
    const scheduler = new FairScheduler();
    const ticksOfTurns = new Set<number>();
    const start = performance.now();
    let ticks = 0;
    for (; performance.now() - start < 100; ticks++) {
      scheduler.accept();
      scheduler.begin('ann', () => ticksOfTurns.add(ticks));
      await nextTick();
    }
    expect(ticksOfTurns.size).toBeLessThanOrEqual((performance.now() - start) / 20 + 2);
    expect(ticksOfTurns.size).toBeGreaterThan(1);
    expect(ticks).toBeGreaterThan(10 * ticksOfTurns.size);
  });

  it('begin after a tick where connections come one after the other', async () => {
    const scheduler = new FairScheduler();
    let begun = 0;
    for (let n = 1; n <= 5; n++) {
      scheduler.accept();
      await nextTick();
      scheduler.begin('ann', () => (begun += 1));
      await nextTick();
      await nextTick();
      expect(begun).toBe(n);
    }
  });

  it('are refused 64 in a tick, and at once where a thousand refusals wait', async () => {
    const scheduler = new FairScheduler();
    let refused = 0;
    for (let n = 0; n < 1_010; n++) scheduler.refuse(() => (refused += 1));
    const seen = [refused];
    for (let ticks = 0; ticks < 2; ticks++) {
      await nextTick();
      seen.push(refused);
    }
    expect(seen).toEqual([10, 74, 138]);
    await eventually(() => expect(refused).toBe(1_010));
  });
});
