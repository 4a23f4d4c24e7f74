import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newCookieValue, verifyCookie, sessionCookie } from './session-cookie.js';

const key = 'a-key-of-thirty-two-characters-x';

describe('the session cookie', () => {
  it('contains its app password, and a session id that does not reveal the cookie', () => {
    const credentialId = randomUUID();
    const [one, other] = [newCookieValue(credentialId, key), newCookieValue(credentialId, key)];
    const read = verifyCookie(`sessionid=${one}`, key);
    expect(read?.credentialId).toBe(credentialId);
    expect(read).toEqual(verifyCookie(`sessionid=${one}`, key));
    expect(verifyCookie(`sessionid=${other}`, key)?.sessionId).not.toBe(read?.sessionId);
    expect(Buffer.from(one, 'base64url').toString('hex')).not.toContain(
      read?.sessionId.replaceAll('-', ''),
    );
  });

  it.each([
    ['alone', (value: string) => `sessionid=${value}`],
    ['among others', (value: string) => `a=b; sessionid=${value}; c=d`],
    ['without spaces', (value: string) => `a=b;sessionid=${value};c=d`],
    ['in quotes', (value: string) => `sessionid="${value}"`],
  ])('is read %s', (_, header) => {
    expect(verifyCookie(header(newCookieValue(randomUUID(), key)), key)).toBeDefined();
  });

  it.each([
    ['no header', () => undefined],
    ['another name', (value: string) => `xsessionid=${value}`],
    ['too short a value', (value: string) => `sessionid=${value.slice(1)}`],
    ['too long a value', (value: string) => `sessionid=${value}A`],
    ['no signature', (value: string) => `sessionid=${value.slice(0, 43)}${'A'.repeat(21)}`],
  ])('is not read with %s', (_, header) => {
    expect(verifyCookie(header(newCookieValue(randomUUID(), key)), key)).toBeUndefined();
  });

  it('is invalid with another key, or with any changed letter', () => {
    const value = newCookieValue(randomUUID(), key);
    expect(verifyCookie(`sessionid=${value}`, key.replace('a', 'b'))).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(63), fc.constantFrom('A', 'b', '0', '_'), (at, letter) => {
        fc.pre(value[at] !== letter);
        const changed = `${value.slice(0, at)}${letter}${value.slice(at + 1)}`;
        expect(verifyCookie(`sessionid=${changed}`, key)).toBeUndefined();
      }),
    );
  });

  it('is sent on all paths, hidden from scripts, and Secure with TLS', () => {
    expect(sessionCookie('x', false)).toBe(
      'sessionid=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000',
    );
    expect(sessionCookie('x', true)).toMatch(/; Secure$/);
  });
});
