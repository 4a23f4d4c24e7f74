import { Failure } from '#contracts';
import { AuthenticationFailure } from '#http';
import {
  appPasswordHash,
  type AppPasswordVerifier,
  type VerifiedCredential,
  RateCounter,
  networkOf,
} from '#identity';
import type { FastifyRequest } from 'fastify';
import { verifyCookie, type SignedSession } from './session-cookie.js';
import type { GpodderSessions } from './sessions.js';

/** The authenticated client of a request. */
export interface Caller extends VerifiedCredential {
  /** Session of the request's cookie; absent if it is invalid or of another app password. */
  readonly session?: SignedSession;
}

/** Name and app password in an `Authorization` header; a bearer token has no name. */
interface SentCredential {
  readonly name?: string;
  readonly secret: string;
}

/**
 * Authenticates requests by session cookie or app password (docs/reference/gpodder.md,
 * "Authentication"). The app password arrives by Basic (RFC 7617) or as a bearer token. An
 * `Authorization` header takes precedence over the cookie. Failed attempts never block valid
 * credentials, so that nobody can lock a user out.
 */
export class GpodderAuthenticator {
  /** Counts wrong credentials by network and name: at most 60 per minute in this process. */
  private readonly failures = new RateCounter(60);

  constructor(
    private readonly appPasswords: AppPasswordVerifier,
    private readonly sessions: GpodderSessions,
    private readonly cookieKey: string,
  ) {}

  /**
   * Returns the caller of a request.
   *
   * @throws AuthenticationFailure; RateLimited for too many wrong app passwords; Failure
   *   `unavailable`.
   */
  async authenticate({ headers, ip }: FastifyRequest): Promise<Caller> {
    const session = verifyCookie(headers.cookie, this.cookieKey);
    if (headers.authorization === undefined) return this.callerOfSession(session);
    const sent = parseAuthorization(headers.authorization);
    const hash = sent && appPasswordHash(sent.secret);
    const credential = hash === undefined ? undefined : await this.appPasswords.check(hash, ip);
    if (!credential || !matchesName(credential, sent?.name)) {
      this.countFailure(sent?.name ?? '', ip);
      throw new AuthenticationFailure(hash === undefined ? 'malformed' : 'app_password');
    }
    const isOwnSession =
      session?.credentialId === credential.credentialId && (await this.isActive(session));
    return { ...credential, ...(isOwnSession && { session }) };
  }

  /** Counts a wrong credential. @throws RateLimited after too many of them. */
  private countFailure(name: string, address: string): void {
    const key = `${networkOf(address)} ${name.slice(0, 64).toLowerCase()}`;
    this.failures.check(key);
    this.failures.add(key);
  }

  private async callerOfSession(session: SignedSession | undefined): Promise<Caller> {
    if (!session) throw new AuthenticationFailure('missing');
    const credential = await this.sessions.check(session);
    if (!credential) throw new AuthenticationFailure('session');
    return { ...credential, session };
  }

  /** Returns true for a session that has not ended; false if the account service is unavailable. */
  private async isActive(session: SignedSession): Promise<boolean> {
    try {
      return (await this.sessions.check(session)) !== undefined;
    } catch (error) {
      if (error instanceof Failure && error.code === 'unavailable') return false;
      throw error;
    }
  }
}

/** Returns true if the sent name is that of the credential, in any letter case, or undefined. */
export function matchesName({ name }: VerifiedCredential, sent: string | undefined): boolean {
  return sent === undefined || sent.toLowerCase() === name.toLowerCase();
}

/** Parses an `Authorization` header of the schemes Basic and Bearer. */
function parseAuthorization(authorization: string): SentCredential | undefined {
  const [, scheme = '', text = ''] = /^(basic|bearer) +([\w.~+/=-]+) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { secret: text };
  // Decodes as Latin-1: names and app passwords are ASCII, so any encoding of the client is right.
  const [, name, secret] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(text, 'base64').toString('latin1')) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}
