import { createHash, randomBytes } from 'node:crypto';

/** Returns a secret of 256 random bits for a cookie or link. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 of a random secret, for storage and lookup. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Returns the hash of a text that has the form of {@link newSecret}; otherwise undefined. */
export function hashIfSecret(text: string): Buffer | undefined {
  return /^[\w-]{43}$/.test(text) ? hashSecret(text) : undefined;
}
