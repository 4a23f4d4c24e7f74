import { commonPasswords } from './common-passwords.js';
import { Refusal, type RefusalCode } from './refusal.js';

/** Minimum number of characters. There are no composition rules (NIST SP 800-63B). */
const minPasswordLength = 12;
/** Maximum length of accepted passwords in bytes. */
export const maxPasswordBytes = 1_000;

/**
 * Returns a password in the Unicode normalization form NFKC, for hashing. Keyboards that encode a
 * character differently then produce the same hash (NIST SP 800-63B, 3.1.1.2).
 */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

/** Checks a new password of the account `name`. @throws Refusal `password_…`. */
export function checkPassword(password: string, name = ''): void {
  const problem = findPasswordProblem(password, name);
  if (problem) throw new Refusal(problem);
}

function findPasswordProblem(password: string, name: string): RefusalCode | undefined {
  if (Buffer.byteLength(password) > maxPasswordBytes) return 'password_long';
  const normalizedPassword = normalizePassword(password);
  if ([...normalizedPassword].length < minPasswordLength) return 'password_short';
  const lower = normalizedPassword.toLowerCase();
  const repeatsName = name !== '' && isRepetitionOf(lower, name.toLowerCase());
  return repeatsName || commonPasswords.has(lower) || isGuessablePattern(lower)
    ? 'password_common'
    : undefined;
}

/** Returns true if the text consists of repetitions of `unit`; the last can be incomplete. */
function isRepetitionOf(text: string, unit: string): boolean {
  return unit.repeat(Math.ceil(text.length / unit.length)).startsWith(text);
}

/** Alphabet, digits, and the keys of QWERTY and QWERTZ keyboards row by row. */
const keySequences = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '1234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];

/**
 * Returns true for repetitions of 1 to 4 characters, and for {@link keySequences} from their first
 * or (backwards) last key.
 */
function isGuessablePattern(text: string): boolean {
  for (let length = 1; length <= 4; length += 1)
    if (isRepetitionOf(text, text.slice(0, length))) return true;
  return keySequences.some((keys) =>
    [keys, [...keys].reverse().join('')].some((sequence) => isRepetitionOf(text, sequence)),
  );
}
