import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The name that clients know from gpodder.net; that of the account's pages is another one. */
const name = 'sessionid';

/** How long a client keeps it after it came, in seconds: a year. */
const maxAge = 31_536_000;

/** Random bytes, those of the app password's id, and the first ones of their HMAC. */
const part = 16;

/** A session that was signed here. It is kept nowhere until its cookie comes back. */
export interface SignedSession {
  /** What it is known by: a hash, so that who sees it can't make the cookie of it. */
  readonly sessionId: string;
  /** The app password that it was made with. */
  readonly credentialId: string;
}

/** A new cookie value for an app password. */
export function makeSession(credentialId: string, key: string): string {
  const signed = Buffer.concat([randomBytes(part), Buffer.from(credentialId.replaceAll('-', ''), 'hex')]);
  return Buffer.concat([signed, signatureOf(signed, key)]).toString('base64url');
}

/** Reads the session of a `Cookie` header (RFC 6265, 4.2); `undefined` where there is none that was signed with this key. */
export function readSession(header: string | undefined, key: string): SignedSession | undefined {
  const value = header === undefined ? undefined : /(?:^|;) *sessionid="?([\w-]{64})"?(?:;|$)/.exec(header)?.[1];
  if (value === undefined) return undefined;
  const bytes = Buffer.from(value, 'base64url');
  const signed = bytes.subarray(0, 2 * part);
  if (!timingSafeEqual(bytes.subarray(2 * part), signatureOf(signed, key))) return undefined;
  return {
    sessionId: uuidOf(createHash('sha256').update(value).digest()),
    credentialId: uuidOf(signed.subarray(part)),
  };
}

/** The `Set-Cookie` header of a session. Without its path some clients would send it to the login alone. */
export function sessionCookie(value: string, isSecure: boolean): string {
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${isSecure ? '; Secure' : ''}`;
}

/** The `Set-Cookie` header that ends a session at the client. */
export const expiredCookie = `${name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function signatureOf(signed: Buffer, key: string): Buffer {
  return createHmac('sha256', key).update(signed).digest().subarray(0, part);
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex', 0, part).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
