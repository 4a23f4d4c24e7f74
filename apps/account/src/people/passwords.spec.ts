import { expect, it } from 'vitest';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';

const password = 'purple tractor 7';

it('hashes by argon2id at the cost that OWASP recommends, with a random salt', async () => {
  const passwords = new Passwords();
  const [one, two] = await Promise.all([
    passwords.hash(password, 'trustedDevice'),
    passwords.hash(password, 'trustedDevice'),
  ]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(two).not.toBe(one);
  expect(await passwords.verify(one, password, 'untrusted')).toBe(true);
  expect(await passwords.verify(one, 'purple tractor 8', 'untrusted')).toBe(false);
});

it('rejects every password without a stored hash', async () => {
  const passwords = new Passwords();
  expect([
    await passwords.verify(null, password, 'trustedDevice'),
    await passwords.verify(undefined, '', 'trustedDevice'),
  ]).toEqual([false, false]);
});

it.each(['trustedNetwork', 'untrusted'] as const)(
  'refuses excess clients of class %s and still serves a trusted device',
  async (trust) => {
    const passwords = new Passwords();
    const stored = await passwords.hash(password, 'trustedDevice');
    const flood = Array.from({ length: 200 }, () =>
      passwords.verify(stored, password, trust).catch((error: unknown) => error),
    );
    // One hash runs and 16 wait; the others are refused.
    expect(passwords.waitingCount).toBe(16);
    const trusted = passwords.verify(stored, password, 'trustedDevice').then(() => 'trusted');
    const last = Promise.all(flood).then(() => 'flood');
    expect(await Promise.race([trusted, last])).toBe('trusted');
    const outcomes = await Promise.all(flood);
    const refused = outcomes.filter((outcome) => outcome instanceof Refusal);
    expect(refused.length).toBeGreaterThanOrEqual(183);
    expect(refused).toContainEqual(expect.objectContaining({ code: 'busy', retryAfter: 2 }));
    expect(passwords.waitingCount).toBe(0);
    expect(await passwords.verify(stored, password, 'untrusted')).toBe(true);
  },
);

it('serves clients of a trusted network before untrusted ones', async () => {
  const passwords = new Passwords();
  const stored = await passwords.hash(password, 'trustedDevice');
  const ended: string[] = [];
  const verify = async (trust: 'trustedNetwork' | 'untrusted') => {
    await passwords.verify(stored, password, trust);
    ended.push(trust);
  };
  await Promise.all([
    ...Array.from({ length: 4 }, () => verify('untrusted')),
    verify('trustedNetwork'),
  ]);
  expect(ended.indexOf('trustedNetwork')).toBe(1);
});

it('computes one hash per key at a time and refuses a second one immediately', async () => {
  const passwords = new Passwords();
  const one = passwords.hash(password, 'trustedDevice', '', 'a key');
  await expect(passwords.verify(null, password, 'trustedDevice', 'a key')).rejects.toMatchObject({
    code: 'busy',
  });
  const others = Promise.all([
    passwords.verify(null, password, 'trustedDevice', 'another key'),
    passwords.hash(password, 'trustedDevice'),
  ]);
  const stored = await one;
  await others;
  expect(await passwords.verify(stored, password, 'trustedDevice', 'a key')).toBe(true);
});
