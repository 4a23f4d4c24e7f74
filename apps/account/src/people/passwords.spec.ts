import { expect, it } from 'vitest';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';

const password = 'purple tractor 7';

it('hashes by argon2id at the cost that OWASP advises, with a salt of its own', async () => {
  const passwords = new Passwords();
  const [one, two] = await Promise.all([
    passwords.hash(password, 'known'),
    passwords.hash(password, 'known'),
  ]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(two).not.toBe(one);
  expect(await passwords.verify(one, password, 'stranger')).toBe(true);
  expect(await passwords.verify(one, 'purple tractor 8', 'stranger')).toBe(false);
});

it('has nobody in without a hash', async () => {
  const passwords = new Passwords();
  expect([
    await passwords.verify(null, password, 'known'),
    await passwords.verify(undefined, '', 'known'),
  ]).toEqual([false, false]);
});

it.each(['near', 'stranger'] as const)(
  'refuses %s ones who come in numbers, and lets who is known in beside them',
  async (standing) => {
    const passwords = new Passwords();
    const stored = await passwords.hash(password, 'known');
    const flood = Array.from({ length: 200 }, () =>
      passwords.verify(stored, password, standing).catch((error: unknown) => error),
    );
    // One hash runs and 16 wait; the others are refused.
    expect(passwords.waiting).toBe(16);
    const known = passwords.verify(stored, password, 'known').then(() => 'known');
    const last = Promise.all(flood).then(() => 'strangers');
    expect(await Promise.race([known, last])).toBe('known');
    const outcomes = await Promise.all(flood);
    const refused = outcomes.filter((outcome) => outcome instanceof Refusal);
    expect(refused.length).toBeGreaterThanOrEqual(183);
    expect(refused).toContainEqual(expect.objectContaining({ code: 'busy', retryAfter: 2 }));
    expect(passwords.waiting).toBe(0);
    expect(await passwords.verify(stored, password, 'stranger')).toBe(true);
  },
);

it('lets those of a network from which somebody signed in go before strangers', async () => {
  const passwords = new Passwords();
  const stored = await passwords.hash(password, 'known');
  const ended: string[] = [];
  const verify = async (standing: 'near' | 'stranger') => {
    await passwords.verify(stored, password, standing);
    ended.push(standing);
  };
  await Promise.all([...Array.from({ length: 4 }, () => verify('stranger')), verify('near')]);
  expect(ended.indexOf('near')).toBe(1);
});

it('computes one hash of a key at a time, and refuses a second one at once', async () => {
  const passwords = new Passwords();
  const one = passwords.hash(password, 'known', '', 'a key');
  await expect(passwords.verify(null, password, 'known', 'a key')).rejects.toMatchObject({
    code: 'busy',
  });
  const others = Promise.all([
    passwords.verify(null, password, 'known', 'another key'),
    passwords.hash(password, 'known'),
  ]);
  const stored = await one;
  await others;
  expect(await passwords.verify(stored, password, 'known', 'a key')).toBe(true);
});
