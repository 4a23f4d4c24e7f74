import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanLabel } from './label.rules.js';
import { TrustedClients } from './trusted-clients.js';
import { isMailAddress } from './mail.js';
import { hashRecoveryCode } from './recovery-codes.js';
import { Seal } from './seal.js';

describe('a label', () => {
  it.each([
    ['AntennaPod', 'AntennaPod'],
    ['  My \t phone\n ', 'My phone'],
    ['a\u202Eevil\u2066b', 'aevilb'],
    ['a\u0085b\uD800c', 'a b c'],
    ['Pod\u3164\u00AD\uFE0Fcast', 'Podcast'],
    ['\u200B\u0000', ''],
    ['\u3164', ''],
    ['“ – ”', ''],
    ['🎧', ''],
    ['🎧 7', '🎧 7'],
    ['x'.repeat(100), 'x'.repeat(64)],
    [`a${'😀'.repeat(100)}`, `a${'😀'.repeat(63)}`],
  ])('%j is shown as %j', (text, label) => {
    expect(cleanLabel(text)).toBe(label);
  });

  it('has at most 64 characters, all of them visible', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const label = cleanLabel(text);
        expect([...label].length).toBeLessThanOrEqual(64);
        expect(label).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
        expect(label).toMatch(/^$|[\p{L}\p{N}]/u);
        expect(cleanLabel(label)).toBe(label);
      }),
    );
  });
});

describe('a mail address', () => {
  it.each([
    'ann@example.com',
    'ann.o+podcasts@mail.example.co.uk',
    'änn@example.com',
    'a@xn--bcher-kva.example',
  ])('%s is one', (text) => {
    expect(isMailAddress(text)).toBe(true);
  });

  it.each([
    '',
    'ann',
    'ann@localhost',
    'ann@example..com',
    'Ann <ann@example.com>',
    'ann@example.com,ben@example.com',
    'ann@example.com\r\nBcc: ben@example.com',
    '"ann"@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ann@${'a'.repeat(64)}.com`,
  ])('%j is none', (text) => {
    expect(isMailAddress(text)).toBe(false);
  });
});

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

describe('a trusted client', () => {
  const browsers = new TrustedClients(new Seal('a-secret-of-tests-which-is-long-enough'));

  it('is recognized by its cookie for the name of its sign-in, ignoring letter case', () => {
    const cookie = browsers.cookieFor('Ann');
    expect(browsers.deviceOf('ann', cookie)).toMatch(/^[\da-f-]{36}$/);
    expect(browsers.deviceOf('ben', cookie)).toBeUndefined();
    expect(browsers.cookieFor('ann', cookie)).toBe(cookie);
    expect(browsers.cookieFor('ben', cookie)).not.toBe(cookie);
  });

  it('is not recognized by a forged cookie', () => {
    for (const cookie of [undefined, '', 'x', 'x'.repeat(199), 'x'.repeat(10_000)])
      expect(browsers.deviceOf('ann', cookie)).toBeUndefined();
  });

  it('is in a trusted network after a sign-in from it, for a limited number of networks', () => {
    expect(browsers.trustOf('2001:db8::1', undefined)).toBe('untrusted');
    browsers.trustNetwork('2001:db8::2');
    expect(browsers.trustOf('2001:db8::1', undefined)).toBe('trustedNetwork');
    for (let n = 0; n < 10_000; n += 1) browsers.trustNetwork(`10.1.${n >> 8}.${n & 255}`);
    expect(browsers.trustOf('2001:db8::1', undefined)).toBe('untrusted');
  });
});
