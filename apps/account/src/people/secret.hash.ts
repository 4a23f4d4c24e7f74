import { createHash, randomBytes } from 'node:crypto';

/** A secret of 256 random bits, for a cookie or a link. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** What is kept of a secret that is too random to be guessed, and what it is found by: its SHA-256. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** The hash of what may be such a secret; `undefined` where it can't be one, which costs no look-up. */
export function hashOfSecret(text: string): Buffer | undefined {
  return /^[\w-]{43}$/.test(text) ? hashOf(text) : undefined;
}
