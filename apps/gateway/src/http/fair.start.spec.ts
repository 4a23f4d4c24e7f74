import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairStart } from './fair.start.js';

describe('requests of one user', () => {
  it('begin four in each turn, in their order', async () => {
    const start = new FairStart();
    const begun: number[] = [];
    for (let n = 0; n < 10; n++) void start.enter('ann').then(() => begun.push(n));
    const seen: number[][] = [];
    for (let turns = 0; turns < 4; turns++) {
      await Promise.resolve();
      await turn();
      seen.push([...begun]);
    }
    expect(seen.map((some) => some.length)).toEqual([8, 10, 10, 10]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('hold up no other user', async () => {
    const start = new FairStart();
    const begun: string[] = [];
    for (let n = 0; n < 100; n++) void start.enter('ann').then(() => begun.push('ann'));
    await start.enter('bob').then(() => begun.push('bob'));
    expect(begun).toEqual(['ann', 'ann', 'ann', 'ann', 'bob']);
  });

  it('begin at once again in a later turn', async () => {
    const start = new FairStart();
    await Promise.all([1, 2, 3, 4].map(() => start.enter('ann')));
    await turn();
    await turn();
    let begun = 0;
    for (let n = 0; n < 4; n++) void start.enter('ann').then(() => (begun += 1));
    await Promise.resolve();
    expect(begun).toBe(4);
  });
});
