import { createHash, randomBytes } from 'node:crypto';

/** Prefix by which people, secret scanners and gateways recognize an app password. */
export const appPasswordPrefix = 'pst_';

/** Matches app passwords: the prefix, 128 random bits, and 36 bits of a hash of both (checksum). */
const appPasswordForm = /^pst_[\w-]{22}[\w-]{6}$/;
const checksumLetters = 6;

/** Creates an app password of 32 characters, of which six are a checksum, and its hash. */
export function makeAppPassword(): { secret: string; hash: string } {
  const text = `${appPasswordPrefix}${randomBytes(16).toString('base64url')}`;
  const secret = `${text}${checksum(text)}`;
  return { secret, hash: sha256(secret) };
}

/**
 * Returns the SHA-256 of an app password in base64url. Only this hash is stored or sent to other
 * processes. A secret of 128 random bits needs no slow hash.
 *
 * @returns `undefined` for a wrong form or checksum, so that a mistyped app password costs no
 *   lookup.
 */
export function appPasswordHash(text: string): string | undefined {
  if (!appPasswordForm.test(text)) return undefined;
  const length = text.length - checksumLetters;
  return checksum(text.slice(0, length)) === text.slice(length) ? sha256(text) : undefined;
}

function checksum(text: string): string {
  return sha256(text).slice(0, checksumLetters);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
