import { describe, expect, it } from 'vitest';
import { hashRecoveryCode } from './recovery-codes.js';

describe('a recovery code', () => {
  it('is recognized in all usual spellings', () => {
    const hash = hashRecoveryCode('0123-4567-89ab-cdef');
    expect(hash).toBeDefined();
    expect(hashRecoveryCode(' O123 4567 89AB CDEF ')).toEqual(hash);
    expect(hashRecoveryCode('oi23-4567-89ab-cdef')).toEqual(hash);
  });

  it.each(['', '0123-4567-89ab-cde', '0123-4567-89ab-cdef-0', 'u123-4567-89ab-cdef'])(
    '%j is none',
    (typed) => {
      expect(hashRecoveryCode(typed)).toBeUndefined();
    },
  );
});
