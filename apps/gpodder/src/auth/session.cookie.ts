import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Cookie name of gpodder.net, which clients expect. The account pages use another name. */
const cookieName = 'sessionid';

/** Lifetime of the cookie at the client in seconds: a year. */
const maxAge = 31_536_000;

/** Bytes of each part of a cookie: random bytes, the id of the app password, a truncated HMAC. */
const partBytes = 16;

/** A session from a cookie with a valid signature. The first check of the cookie stores it. */
export interface SignedSession {
  /** Hash of the cookie's value, from which nobody can derive the cookie. */
  readonly sessionId: string;
  /** The app password that created it. */
  readonly credentialId: string;
}

/** Returns a new cookie value for an app password. */
export function newCookieValue(credentialId: string, key: string): string {
  const signed = Buffer.concat([
    randomBytes(partBytes),
    Buffer.from(credentialId.replaceAll('-', ''), 'hex'),
  ]);
  return Buffer.concat([signed, signatureOf(signed, key)]).toString('base64url');
}

/** Returns the validly signed session of a `Cookie` header (RFC 6265, 4.2), if any. */
export function readSession(header: string | undefined, key: string): SignedSession | undefined {
  const value =
    header === undefined
      ? undefined
      : /(?:^|;) *sessionid="?([\w-]{64})"?(?:;|$)/.exec(header)?.[1];
  if (value === undefined) return undefined;
  const bytes = Buffer.from(value, 'base64url');
  const signed = bytes.subarray(0, 2 * partBytes);
  if (!timingSafeEqual(bytes.subarray(2 * partBytes), signatureOf(signed, key))) return undefined;
  return {
    sessionId: uuidOf(createHash('sha256').update(value).digest()),
    credentialId: uuidOf(signed.subarray(partBytes)),
  };
}

/** Returns the `Set-Cookie` header of a session. Some clients need the attribute `Path`. */
export function sessionCookie(value: string, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : '';
  return `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`;
}

/** `Set-Cookie` header that removes the cookie from the client. */
export const expiredCookie = `${cookieName}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function signatureOf(signed: Buffer, key: string): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, partBytes);
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex', 0, partBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
