import { describe, expect, it } from 'vitest';
import { maxAttempts, overtakenOutcome, stepAfterFault, stepFor } from './deletion.rules.js';
import type { FaultKind } from '#database';

describe('the step for a locked record', () => {
  it.each(['SUCCESS', 'FAILURE'] as const)('leaves a record in %s unchanged', (status) => {
    expect(stepFor({ status, isCurrent: true })).toBe('leave');
    expect(stepFor({ status, isCurrent: false })).toBe('leave');
  });

  it('executes a PENDING record, or ends it in FAILURE if the subscription changed later', () => {
    expect(stepFor({ status: 'PENDING', isCurrent: true })).toEqual({ status: 'SUCCESS' });
    expect(stepFor({ status: 'PENDING', isCurrent: false })).toEqual(overtakenOutcome);
  });
});

describe('a failed attempt', () => {
  const cases = (['unavailable', 'transient', 'permanent'] as FaultKind[]).flatMap((kind) =>
    Array.from({ length: maxAttempts + 2 }, (_, attempts) => ({ kind, attempts })),
  );
  it.each(cases)(
    'with a fault of kind $kind and $attempts attempts has the right step',
    ({ kind, attempts }) => {
      const ends = kind === 'permanent' || (kind === 'transient' && attempts >= maxAttempts);
      expect(stepAfterFault(kind, attempts, 'why')).toEqual(
        ends ? { status: 'FAILURE', cause: 'why' } : 'leave',
      );
    },
  );
});
