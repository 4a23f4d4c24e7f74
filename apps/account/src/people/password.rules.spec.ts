import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPassword } from './password.rules.js';
import { Refusal } from './refusal.js';

/** Returns the code of the refusal of a password, if it is refused. */
function refusalOf(password: string, name?: string): string | undefined {
  try {
    checkPassword(password, name);
    return undefined;
  } catch (error) {
    return (error as Refusal).code;
  }
}

describe('a password', () => {
  it.each([
    ['purple tractor 7', undefined],
    ['ein Satz mit ß', undefined],
    ['🎧🎧🎙️ radio lives', undefined],
    ['elevenchars', 'password_short'],
    ['🎧'.repeat(11), 'password_short'],
    ['x'.repeat(1_001), 'password_long'],
    ['ä'.repeat(501), 'password_long'],
  ])('%s: %s', (password, problem) => {
    expect(refusalOf(password)).toBe(problem);
  });

  it.each([
    'PasswordPassword',
    'administrator',
    'qwertyuiop123',
    '1q2w3e4r5t6y',
    'correcthorsebatterystaple',
    'aaaaaaaaaaaaaaaa',
    'abcabcabcabcabc',
    '1234567890123456',
    'abcdefghijklmnop',
    'zyxwvutsrqpon',
    'qwertzuiopasdf',
    'ann-of-cleves',
    'ANN-OF-CLEVESann',
  ])('that is easy to guess is refused: %s', (password) => {
    expect(refusalOf(password, 'Ann-of-Cleves')).toBe('password_common');
  });

  it('needs no capitals, digits or symbols if it is long and random', () => {
    const letters = fc.array(fc.constantFrom(...'abcdefghijkmnopqrstuvwxyz'), {
      minLength: 20,
      maxLength: 60,
    });
    fc.assert(
      fc.property(letters, (all) => {
        fc.pre(new Set(all).size > 10);
        expect(refusalOf(all.join(''))).toBeUndefined();
      }),
    );
  });
});
