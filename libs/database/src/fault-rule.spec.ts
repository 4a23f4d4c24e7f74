import { describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { faultKind, postgresOutage } from './fault-rule.js';

const withCode = (code: string) => Object.assign(new Error(code), { code });

describe('faultKind', () => {
  it.each([
    '08006',
    '08P01',
    '57P01',
    '57P03',
    '53300',
    '25006',
    '28P01',
    '3D000',
    '42P01',
    '42703',
    '42883',
    '42501',
    '3F000',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'ENETUNREACH',
    'CERT_HAS_EXPIRED',
  ])('is unavailable if Postgres is unreachable or not migrated yet: %s', (code) =>
    expect(faultKind(withCode(code))).toBe('unavailable'),
  );

  it.each(['26000', '40001', '40P01', '53100', '53200', '55P03', '57014', '58030'])(
    'is transient if the same transaction can succeed later: %s',
    (code) => expect(faultKind(withCode(code))).toBe('transient'),
  );

  it.each(['23503', '23514', '42601', 'XX000', 'P0001'])(
    'is permanent if it never can: %s',
    (code) => expect(faultKind(withCode(code))).toBe('permanent'),
  );

  it.each([
    ['postmaster was shut down, exiting', 'unavailable'],
    ['cannot execute a distributed query from a query on a shard', 'transient'],
    ['cache lookup failed for relation 1', 'permanent'],
  ])('of an internal error depends on its message: %s', (message, kind) =>
    expect(faultKind(Object.assign(new Error(message), { code: 'XX000' }))).toBe(kind),
  );

  it('depends on the causes of a failure', () => {
    const because = (cause: unknown) => new Failure('unavailable', { cause });
    expect(faultKind(because(withCode('57P01')))).toBe('unavailable');
    expect(faultKind(because(withCode('40001')))).toBe('transient');
    expect(faultKind(new Error('outside', { cause: because(withCode('40P01')) }))).toBe(
      'transient',
    );
  });

  it('is unavailable for a call that never reached Postgres', () => {
    expect(faultKind(new Failure('unavailable'))).toBe('unavailable');
    expect(
      faultKind(new Failure('unavailable', { cause: new Error('Connection terminated') })),
    ).toBe('unavailable');
  });

  it.each([new TypeError('a fault of ours'), 'thrown text', undefined])(
    'is permanent for an error that is not from Postgres: %s',
    (error) => {
      expect(faultKind(error)).toBe('permanent');
    },
  );
});

describe('postgresOutage', () => {
  it('is Postgres for a failure because Postgres is unavailable, and nothing for others', () => {
    const failure = (code: string) => new Failure('unavailable', { cause: withCode(code) });
    expect(postgresOutage(failure('57P01'))).toBe('Postgres');
    expect(postgresOutage(failure('40P01'))).toBeUndefined();
    expect(postgresOutage(withCode('ECONNREFUSED'))).toBeUndefined();
  });
});
