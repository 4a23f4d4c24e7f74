import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('returns the result of the first check that does not throw', async () => {
    let tries = 0;
    const check = () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return tries;
    };
    expect(await eventually(check, { interval: 1 })).toBe(3);
  });

  it('throws the last error of a check that always throws', async () => {
    const check = () => Promise.reject(new Error('never'));
    await expect(eventually(check, { timeout: 10, interval: 1 })).rejects.toThrow('never');
  });
});
