import { createHash, randomBytes } from 'node:crypto';

/** Returns a secret of 256 random bits for a cookie or link. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 of a secret, for storage and lookup. Secrets must be too random to guess. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Returns the hash of a secret, or `undefined` without a lookup if the text cannot be one. */
export function hashOfSecret(text: string): Buffer | undefined {
  return /^[\w-]{43}$/.test(text) ? hashOf(text) : undefined;
}
