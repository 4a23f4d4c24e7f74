import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelOf } from './label.rule.js';
import { KnownBrowsers } from './known-browsers.js';
import { isMailAddress } from './mail.js';
import { hashOfCode } from './recovery-codes.js';
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
    expect(labelOf(text)).toBe(label);
  });

  it('has at most 64 characters and none that is not seen, whatever an app calls itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const label = labelOf(text);
        expect([...label].length).toBeLessThanOrEqual(64);
        expect(label).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
        expect(label).toMatch(/^$|[\p{L}\p{N}]/u);
        expect(labelOf(label)).toBe(label);
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
  it('is known as people type it', () => {
    const hash = hashOfCode('0123-4567-89ab-cdef');
    expect(hash).toBeDefined();
    expect(hashOfCode(' O123 4567 89AB CDEF ')).toEqual(hash);
    expect(hashOfCode('oi23-4567-89ab-cdef')).toEqual(hash);
  });

  it.each(['', '0123-4567-89ab-cde', '0123-4567-89ab-cdef-0', 'u123-4567-89ab-cdef'])(
    '%j is none',
    (typed) => {
      expect(hashOfCode(typed)).toBeUndefined();
    },
  );
});

describe('a known browser', () => {
  const browsers = new KnownBrowsers(new Seal('a-secret-of-tests-which-is-long-enough'));

  it('is known by its cookie for the name that it signed in as, in any letter case', () => {
    const cookie = browsers.cookieFor('Ann');
    expect(browsers.deviceOf('ann', cookie)).toMatch(/^[\da-f-]{36}$/);
    expect(browsers.deviceOf('ben', cookie)).toBeUndefined();
    expect(browsers.cookieFor('ann', cookie)).toBe(cookie);
    expect(browsers.cookieFor('ben', cookie)).not.toBe(cookie);
  });

  it('is a stranger with a cookie that is not ours', () => {
    for (const cookie of [undefined, '', 'x', 'x'.repeat(199), 'x'.repeat(10_000)])
      expect(browsers.deviceOf('ann', cookie)).toBeUndefined();
  });

  it('is no stranger where somebody signed in from the same network, in memory that is bounded', () => {
    expect(browsers.standing('2001:db8::1', undefined)).toBe('stranger');
    browsers.remember('2001:db8::2');
    expect(browsers.standing('2001:db8::1', undefined)).toBe('near');
    for (let n = 0; n < 10_000; n += 1) browsers.remember(`10.1.${n >> 8}.${n & 255}`);
    expect(browsers.standing('2001:db8::1', undefined)).toBe('stranger');
  });
});
