import { describe, expect, it } from 'vitest';
import { isMailAddress } from './mail.js';

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
