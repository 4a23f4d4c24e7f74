import { commonPasswords } from './common-passwords.js';
import { Refusal, type RefusalCode } from './refusal.js';

/** Minimum number of characters. There are no composition rules (NIST SP 800-63B). */
const minPasswordLength = 12;
/** Maximum length of accepted passwords in bytes. */
export const maxPasswordBytes = 1_000;

/**
 * Returns the Unicode normalization (NFKC) of a password, which is hashed. It is the same for
 * keyboards that encode a character differently (NIST SP 800-63B, 3.1.1.2).
 */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

/** Checks a new password of the account `name`. @throws Refusal `password_…`. */
export function checkPassword(password: string, name = ''): void {
  const problem = passwordProblem(password, name);
  if (problem) throw new Refusal(problem);
}

function passwordProblem(password: string, name: string): RefusalCode | undefined {
  if (Buffer.byteLength(password) > maxPasswordBytes) return 'password_long';
  const text = normalizePassword(password);
  if ([...text].length < minPasswordLength) return 'password_short';
  const lower = text.toLowerCase();
  const isName = name !== '' && isRepetitionOf(lower, name.toLowerCase());
  return isName || commonPasswords.has(lower) || isPattern(lower) ? 'password_common' : undefined;
}

/** Returns true if the text repeats `part`; the last repetition can be incomplete. */
function isRepetitionOf(text: string, part: string): boolean {
  return part.repeat(Math.ceil(text.length / part.length)).startsWith(text);
}

/** Alphabet, digits and keyboard rows, whose parts are too easy to guess. */
const keySequences = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '1234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];

/** Returns true for repetitions of 1 to 4 characters and for alphabet or keyboard sequences. */
function isPattern(text: string): boolean {
  for (let length = 1; length <= 4; length += 1)
    if (isRepetitionOf(text, text.slice(0, length))) return true;
  return keySequences.some((row) =>
    [row, [...row].reverse().join('')].some((sequence) => isRepetitionOf(text, sequence)),
  );
}
