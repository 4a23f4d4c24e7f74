import { describe, expect, it } from 'vitest';
import { Seal } from './seal.js';
import { TrustedClients } from './trusted-clients.js';

describe('a trusted client', () => {
  const clients = new TrustedClients(new Seal('a-secret-of-tests-which-is-long-enough'));

  it('is recognized by its cookie for the name of its sign-in, ignoring letter case', () => {
    const cookie = clients.cookieFor('Ann');
    expect(clients.deviceOf('ann', cookie)).toMatch(/^[\da-f-]{36}$/);
    expect(clients.deviceOf('ben', cookie)).toBeUndefined();
    const device = clients.deviceOf('ann', cookie);
    expect(clients.deviceOf('ann', clients.cookieFor('ann', cookie))).toBe(device);
    expect(clients.deviceOf('ben', clients.cookieFor('ben', cookie))).not.toBe(device);
  });

  it('is recognized without the replaced key after a sign-in with the new one', () => {
    const [oldKey, newKey] = [
      'an-old-key-of-32-or-more-characters',
      'a-new-key-of-32-or-more-characters',
    ];
    const oldCookie = new TrustedClients(new Seal(oldKey)).cookieFor('ann');
    const cookie = new TrustedClients(new Seal(`${newKey},${oldKey}`)).cookieFor('ann', oldCookie);
    expect(new TrustedClients(new Seal(newKey)).deviceOf('ann', cookie)).toBeDefined();
  });

  it('is not recognized by a forged cookie', () => {
    for (const cookie of [undefined, '', 'x', 'x'.repeat(199), 'x'.repeat(10_000)])
      expect(clients.deviceOf('ann', cookie)).toBeUndefined();
  });

  it('is in a trusted network after a sign-in from it, for a limited number of networks', () => {
    expect(clients.trustOf('2001:db8::1', undefined)).toBe('untrusted');
    clients.trustNetwork('2001:db8::2');
    expect(clients.trustOf('2001:db8::1', undefined)).toBe('trustedNetwork');
    for (let n = 0; n < 10_000; n += 1) clients.trustNetwork(`10.1.${n >> 8}.${n & 255}`);
    expect(clients.trustOf('2001:db8::1', undefined)).toBe('untrusted');
  });
});
