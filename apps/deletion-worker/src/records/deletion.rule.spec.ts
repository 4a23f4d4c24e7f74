import { describe, expect, it } from 'vitest';
import { type DeletionStatus, deletionStatuses } from '#contracts';
import { isFinal, maxAttempts, overtaken, stepAfterFault, stepFor, transitions } from './deletion.rule.js';
import type { FaultKind } from '#database';

describe('the states of a deletion', () => {
  it('have a table with a row for each, and no others', () => {
    expect(Object.keys(transitions).sort()).toEqual([...deletionStatuses].sort());
  });

  it.each<[DeletionStatus, DeletionStatus, boolean]>([
    ['PENDING', 'PENDING', false],
    ['PENDING', 'SUCCESS', true],
    ['PENDING', 'FAILURE', true],
    ['SUCCESS', 'PENDING', false],
    ['SUCCESS', 'SUCCESS', false],
    ['SUCCESS', 'FAILURE', false],
    ['FAILURE', 'PENDING', false],
    ['FAILURE', 'SUCCESS', false],
    ['FAILURE', 'FAILURE', false],
  ])('%s may become %s: %s', (from, to, may) =>
    expect((transitions[from] as readonly DeletionStatus[]).includes(to)).toBe(may),
  );

  it.each<[DeletionStatus, boolean]>([
    ['PENDING', false],
    ['SUCCESS', true],
    ['FAILURE', true],
  ])('%s is final: %s', (status, final) => expect(isFinal(status)).toBe(final));
});

describe('a job that holds a record', () => {
  it.each(deletionStatuses.filter(isFinal))(
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
