import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appPasswordHash, makeAppPassword } from './app-password.js';

describe('an app password', () => {
  it('has 32 characters and a prefix', () => {
    expect(makeAppPassword().secret).toMatch(/^pst_[\w-]{28}$/);
  });

  it('is identified by its SHA-256', () => {
    const { secret, hash } = makeAppPassword();
    expect(hash).toBe(createHash('sha256').update(secret).digest('base64url'));
    expect(appPasswordHash(secret)).toBe(hash);
  });

  it('is never the same twice', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => makeAppPassword().secret)).size).toBe(1_000);
  });

  it('is invalid if any of its characters is changed', () => {
    const { secret } = makeAppPassword();
    for (let at = 0; at < secret.length; at++) {
      const other = secret[at] === 'x' ? 'y' : 'x';
      expect(appPasswordHash(secret.slice(0, at) + other + secret.slice(at + 1))).toBeUndefined();
    }
  });

  it.each([
    '',
    'pst_',
    `${makeAppPassword().secret}\n`,
    ` ${makeAppPassword().secret}`,
    makeAppPassword().secret.slice(1),
  ])('cannot be %j', (text) => expect(appPasswordHash(text)).toBeUndefined());

  it('has a valid checksum', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 64 }),
        (text) => appPasswordHash(`pst_${text}`) === undefined,
      ),
    );
  });
});
