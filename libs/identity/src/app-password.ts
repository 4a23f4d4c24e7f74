import { createHash, randomBytes } from 'node:crypto';

/** What an app password begins with, so that people, scanners of secrets and gateways know one when they see it. */
export const appPasswordPrefix = 'pst_';

/** 128 random bits in base64url, and the first 36 bits of a hash of what stands before them. */
const form = /^pst_[\w-]{22}[\w-]{6}$/;
const checksumLetters = 6;

/** A new app password: 32 characters, of which the last six are a checksum, and the hash by which it is known. */
export function makeAppPassword(): { secret: string; hash: string } {
  const text = `${appPasswordPrefix}${randomBytes(16).toString('base64url')}`;
  const secret = `${text}${checksum(text)}`;
  return { secret, hash: sha256(secret) };
}

/**
 * The SHA-256 in base64url by which an app password is known: nothing else of it is kept, or crosses between processes.
 * One of 128 random bits needs no slow hash.
 *
 * @returns `undefined` where form or checksum say that it is none: a mistyped one, or a guess, costs nobody a question.
 */
export function appPasswordHash(text: string): string | undefined {
  if (!form.test(text)) return undefined;
  const length = text.length - checksumLetters;
  return checksum(text.slice(0, length)) === text.slice(length) ? sha256(text) : undefined;
}

function checksum(text: string): string {
  return sha256(text).slice(0, checksumLetters);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
