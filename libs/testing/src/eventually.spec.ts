import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('returns what the check returns once it no longer throws', async () => {
    let tries = 0;
    const check = () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return tries;
    };
    expect(await eventually(check, { interval: 1 })).toBe(3);
  });

  it('throws what the check threw last when it never holds', async () => {
    const check = () => Promise.reject(new Error('never'));
    await expect(eventually(check, { timeout: 10, interval: 1 })).rejects.toThrow('never');
  });
});
