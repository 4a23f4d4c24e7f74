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
  /** Session of the cookie; absent without a valid cookie of the same app password. */
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
  /** Limits wrong credentials for each network and name to 60 per minute in this process. */
  private readonly failureCounter = new RateCounter(60);

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
    if (headers.authorization === undefined) return this.authenticateSession(session);
    const sentCredential = parseAuthorization(headers.authorization);
    const hash = sentCredential && appPasswordHash(sentCredential.secret);
    const credential = hash === undefined ? undefined : await this.appPasswords.check(hash, ip);
    if (!credential || !matchesName(credential, sentCredential?.name)) {
      this.countFailure(sentCredential?.name ?? '', ip);
      throw new AuthenticationFailure(hash === undefined ? 'malformed' : 'app_password');
    }
    const isOwnSession =
      session?.credentialId === credential.credentialId && (await this.isActive(session));
    return { ...credential, ...(isOwnSession && { session }) };
  }

  /** Counts a wrong credential. @throws RateLimited after too many wrong credentials. */
  private countFailure(name: string, address: string): void {
    const key = `${networkOf(address)} ${name.slice(0, 64).toLowerCase()}`;
    this.failureCounter.check(key);
    this.failureCounter.add(key);
  }

  private async authenticateSession(session: SignedSession | undefined): Promise<Caller> {
    if (!session) throw new AuthenticationFailure('missing');
    const credential = await this.sessions.check(session);
    if (!credential) throw new AuthenticationFailure('session');
    return { ...credential, session };
  }

  /** Returns false if a session has ended or the account service is unavailable, else true. */
  private async isActive(session: SignedSession): Promise<boolean> {
    try {
      return (await this.sessions.check(session)) !== undefined;
    } catch (error) {
      if (error instanceof Failure && error.code === 'unavailable') return false;
      throw error;
    }
  }
}

/** Returns true if the sent name is undefined, or equals the credential's name in any case. */
export function matchesName({ name }: VerifiedCredential, sentName: string | undefined): boolean {
  return sentName === undefined || sentName.toLowerCase() === name.toLowerCase();
}

/** Parses an `Authorization` header (Basic or Bearer); `undefined` for an invalid one. */
function parseAuthorization(authorization: string): SentCredential | undefined {
  const [, scheme = '', credentials = ''] =
    /^(basic|bearer) +([\w.~+/=-]+) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { secret: credentials };
  // Decodes as Latin-1. Any encoding is right, because names and app passwords are ASCII.
  const [, name, secret] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('latin1')) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}
