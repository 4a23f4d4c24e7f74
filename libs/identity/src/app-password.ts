import { createHash, randomBytes } from 'node:crypto';

/** Prefix by which people, secret scanners and gateways recognize an app password. */
export const appPasswordPrefix = 'pst_';

/** Matches app passwords: the prefix, 128 random bits, and 36 bits of a hash of both (checksum). */
const appPasswordForm = /^pst_[\w-]{22}[\w-]{6}$/;
const checksumLength = 6;

/** Creates an app password of 32 characters, of which six are a checksum, and its hash. */
export function makeAppPassword(): { secret: string; hash: string } {
  const withoutChecksum = `${appPasswordPrefix}${randomBytes(16).toString('base64url')}`;
  const secret = `${withoutChecksum}${computeChecksum(withoutChecksum)}`;
  return { secret, hash: sha256(secret) };
}

/**
 * Returns the SHA-256 of an app password in base64url. Only this hash is stored or sent to other
 * processes. A secret of 128 random bits needs no slow hash.
 *
 * @returns `undefined` for a wrong form or checksum, so that a mistyped app password causes no
 *   lookup.
 */
export function appPasswordHash(candidate: string): string | undefined {
  if (!appPasswordForm.test(candidate)) return undefined;
  const checksumStart = candidate.length - checksumLength;
  return computeChecksum(candidate.slice(0, checksumStart)) === candidate.slice(checksumStart)
    ? sha256(candidate)
    : undefined;
}

function computeChecksum(text: string): string {
  return sha256(text).slice(0, checksumLength);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
