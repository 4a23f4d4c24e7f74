import { commonPasswords } from './common.passwords.js';
import type { RefusalCode } from './refusal.js';

/** The fewest characters of a password. Length is what counts: there are no rules of composition (NIST SP 800-63B). */
const leastPasswordLength = 12;
/** The most bytes of one: what a form carries, and what is hashed. */
export const mostPasswordBytes = 1_000;

/** How a password is hashed: the same text on every keyboard and system (NFKC, NIST SP 800-63B 3.1.1.2). */
export function passwordText(password: string): string {
  return password.normalize('NFKC');
}

/** What is wrong with a password that somebody chooses, if anything. */
export function passwordProblem(password: string, name = ''): RefusalCode | undefined {
  if (Buffer.byteLength(password) > mostPasswordBytes) return 'password_long';
  const text = passwordText(password);
  if ([...text].length < leastPasswordLength) return 'password_short';
  const lower = text.toLowerCase();
  const isName = name !== '' && repeats(lower, name.toLowerCase());
  return isName || commonPasswords.has(lower) || isPattern(lower) ? 'password_common' : undefined;
}

/** Whether a text is one part again and again, its last time perhaps cut off. */
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

/** Whether a text is one character or short word again and again, or a walk along the alphabet or the keyboard. */
function isPattern(text: string): boolean {
  for (let length = 1; length <= 4; length += 1) if (repeats(text, text.slice(0, length))) return true;
  return rows.some((row) => [row, [...row].reverse().join('')].some((walk) => repeats(text, walk)));
}
