import { describe, expect, it } from 'vitest';
import { maxAttempts, overtaken, stepAfterFault, stepFor } from './deletion.rule.js';
import type { FaultKind } from '#database';

describe('a job that holds a record', () => {
  it.each(['SUCCESS', 'FAILURE'] as const)(
    'leaves one that ended in %s, whatever became of the subscription',
    (status) => {
      expect(stepFor({ status, stands: true })).toBe('leave');
      expect(stepFor({ status, stands: false })).toBe('leave');
    },
  );

  it('carries a PENDING one out while the subscription stands, and ends it in FAILURE where a later write won', () => {
    expect(stepFor({ status: 'PENDING', stands: true })).toEqual({ status: 'SUCCESS' });
    expect(stepFor({ status: 'PENDING', stands: false })).toEqual(overtaken);
  });
});

describe('a failed attempt', () => {
  const cases = (['away', 'passing', 'lasting'] as FaultKind[]).flatMap((kind) =>
    Array.from({ length: maxAttempts + 2 }, (_, attempts) => ({ kind, attempts })),
  );
  it.each(cases)('that is $kind after $attempts counted ones', ({ kind, attempts }) => {
    const ends = kind === 'lasting' || (kind === 'passing' && attempts >= maxAttempts);
    expect(stepAfterFault(kind, attempts, 'why')).toEqual(ends ? { status: 'FAILURE', cause: 'why' } : 'leave');
  });
});
