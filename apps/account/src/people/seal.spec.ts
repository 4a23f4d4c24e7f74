import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Seal } from './seal.js';

const [old, young] = [
  'an old secret of 32 characters..'.replaceAll(' ', '-'),
  'a-young-secret-of-32-characters.',
];
const seal = new Seal(old);

describe('a sealed value', () => {
  it('is opened only with the same secret, purpose and context', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, context) => {
        const sealed = seal.seal('a', value, context);
        expect(new Seal(old).open('a', sealed, context)).toBe(value);
        expect(seal.open('b', sealed, context)).toBeUndefined();
        expect(seal.open('a', sealed, `${context}x`)).toBeUndefined();
        expect(new Seal(young).open('a', sealed, context)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  it('is not opened after a change of any bit or a truncation', () => {
    const sealed = seal.seal('a', 'value');
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      expect(seal.open('a', changed)).toBeUndefined();
      expect(seal.open('a', sealed.subarray(0, at))).toBeUndefined();
    }
  });

  it('differs each time', () => {
    expect(seal.seal('a', 'value')).not.toEqual(seal.seal('a', 'value'));
  });

  it('of an old secret is opened while that is configured; new values use the new secret', () => {
    const both = new Seal(`${young},${old}`);
    expect(both.open('a', seal.seal('a', 'value'))).toBe('value');
    expect(new Seal(young).open('a', both.seal('a', 'value'))).toBe('value');
  });
});
