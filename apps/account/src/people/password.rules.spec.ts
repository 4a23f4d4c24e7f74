import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passwordProblem } from './password.rules.js';

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
    expect(passwordProblem(password)).toBe(problem);
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
  ])('that many would try first is refused: %s', (password) => {
    expect(passwordProblem(password, 'Ann-of-Cleves')).toBe('password_common');
  });

  it('needs no capitals, digits or symbols if it is long and random', () => {
    const letters = fc.array(fc.constantFrom(...'abcdefghijkmnopqrstuvwxyz'), {
      minLength: 20,
      maxLength: 60,
    });
    fc.assert(
      fc.property(letters, (all) => {
        fc.pre(new Set(all).size > 10);
        expect(passwordProblem(all.join(''))).toBeUndefined();
      }),
    );
  });
});
