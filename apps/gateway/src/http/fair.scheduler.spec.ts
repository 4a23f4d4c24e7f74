import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairScheduler } from './fair.scheduler.js';

describe('requests of one user', () => {
  it('begin four in each tick, in their order', async () => {
    const scheduler = new FairScheduler();
    const begun: number[] = [];
    for (let n = 0; n < 10; n++) void scheduler.begin('ann').then(() => begun.push(n));
    const seen: number[][] = [];
    for (let ticks = 0; ticks < 4; ticks++) {
      await Promise.resolve();
      await nextTick();
      seen.push([...begun]);
    }
    expect(seen.map((some) => some.length)).toEqual([8, 10, 10, 10]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('hold up no other user', async () => {
    const scheduler = new FairScheduler();
    const begun: string[] = [];
    for (let n = 0; n < 100; n++) void scheduler.begin('ann').then(() => begun.push('ann'));
    await scheduler.begin('bob').then(() => begun.push('bob'));
    expect(begun).toEqual(['ann', 'ann', 'ann', 'ann', 'bob']);
  });

  it('begin at once again in a later tick', async () => {
    const scheduler = new FairScheduler();
    await Promise.all([1, 2, 3, 4].map(() => scheduler.begin('ann')));
    await nextTick();
    await nextTick();
    let begun = 0;
    for (let n = 0; n < 4; n++) void scheduler.begin('ann').then(() => (begun += 1));
    await Promise.resolve();
    expect(begun).toBe(4);
  });
});
