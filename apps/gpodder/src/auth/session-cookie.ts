import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Name of the session cookie of gpodder.net, which clients expect. */
const cookieName = 'sessionid';

/** Time for which a client keeps the cookie, in seconds: a year. */
const maxAgeSeconds = 31_536_000;

/** Bytes of each of a cookie's parts: random bytes, id of the app password, truncated HMAC. */
const partBytes = 16;

/**
 * A session of a cookie with a valid signature. The account service stores the session at its first
 * use.
 */
export interface SignedSession {
  /** Hash of the cookie's value, from which nobody can derive the cookie. */
  readonly sessionId: string;
  /** Id of the app password with which the client logged in. */
  readonly credentialId: string;
}

/** Creates the value of a cookie for a client that logged in with an app password. */
export function newCookieValue(credentialId: string, key: string): string {
  const signedBytes = Buffer.concat([
    randomBytes(partBytes),
    Buffer.from(credentialId.replaceAll('-', ''), 'hex'),
  ]);
  return Buffer.concat([signedBytes, computeSignature(signedBytes, key)]).toString('base64url');
}

/** Returns the session of a `Cookie` header (RFC 6265); `undefined` without a valid signature. */
export function verifyCookie(header: string | undefined, key: string): SignedSession | undefined {
  const cookieValue =
    header === undefined
      ? undefined
      : /(?:^|;) *sessionid="?([\w-]{64})"?(?:;|$)/.exec(header)?.[1];
  if (cookieValue === undefined) return undefined;
  const cookieBytes = Buffer.from(cookieValue, 'base64url');
  const signedBytes = cookieBytes.subarray(0, 2 * partBytes);
  if (!timingSafeEqual(cookieBytes.subarray(2 * partBytes), computeSignature(signedBytes, key)))
    return undefined;
  return {
    sessionId: toUuid(createHash('sha256').update(cookieValue).digest()),
    credentialId: toUuid(signedBytes.subarray(partBytes)),
  };
}

/** Returns the header `Set-Cookie` of a session. Some clients need the attribute `Path`. */
export function sessionCookie(cookieValue: string, isSecure: boolean): string {
  const secureAttribute = isSecure ? '; Secure' : '';
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}`;
  return `${cookieName}=${cookieValue}; ${attributes}${secureAttribute}`;
}

/** Header `Set-Cookie` that makes the client delete the cookie. */
export const expiredCookie = `${cookieName}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function computeSignature(signedBytes: Buffer, key: string): Buffer {
  return createHmac('sha256', key).update(signedBytes).digest().subarray(0, partBytes);
}

function toUuid(bytes: Buffer): string {
  return bytes.toString('hex', 0, partBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
