import { commonPasswords } from './common.passwords.js';
import type { RefusalCode } from './refusal.js';

/** Minimum number of characters. There are no composition rules (NIST SP 800-63B). */
const leastPasswordLength = 12;
/** Maximum length of accepted passwords in bytes. */
export const mostPasswordBytes = 1_000;

/** Returns the text to hash, equal on all keyboards and systems (NFKC, NIST SP 800-63B 3.1.1.2). */
export function passwordText(password: string): string {
  return password.normalize('NFKC');
}

/** Returns the reason to reject a new password, if any. */
export function passwordProblem(password: string, name = ''): RefusalCode | undefined {
  if (Buffer.byteLength(password) > mostPasswordBytes) return 'password_long';
  const text = passwordText(password);
  if ([...text].length < leastPasswordLength) return 'password_short';
  const lower = text.toLowerCase();
  const isName = name !== '' && repeats(lower, name.toLowerCase());
  return isName || commonPasswords.has(lower) || isPattern(lower) ? 'password_common' : undefined;
}

/** Returns true if the text repeats a part; the last repetition can be cut off. */
function repeats(text: string, part: string): boolean {
  return part.repeat(Math.ceil(text.length / part.length)).startsWith(text);
}

const rows = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '1234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];

/** Returns true for repetitions of 1 to 4 characters and sequences of alphabet or keyboard. */
function isPattern(text: string): boolean {
  for (let length = 1; length <= 4; length += 1)
    if (repeats(text, text.slice(0, length))) return true;
  return rows.some((row) => [row, [...row].reverse().join('')].some((walk) => repeats(text, walk)));
}
