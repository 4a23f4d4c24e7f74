import { Failure } from '#contracts';
import { AuthenticationFailure } from '#http';
import { appPasswordHash, type AppPasswordVerifier, type VerifiedCredential } from '#identity';
import type { FastifyRequest } from 'fastify';
import type { FailedLogins } from './failed.logins.js';
import { readSession, type SignedSession } from './session.cookie.js';
import type { Sessions } from './sessions.js';

/** The authenticated client. */
export interface Caller extends VerifiedCredential {
  /** The session of the request's cookie. Absent without a valid one of this app password. */
  readonly session?: SignedSession;
}

/** App password of an `Authorization` header; Basic also has a name. */
interface Sent {
  readonly name?: string;
  readonly secret: string;
}

/**
 * Checks sessions and app passwords, by Basic (RFC 7617) or as a bearer (docs/reference/gpodder.md,
 * "Authentication"). An `Authorization` header takes precedence over the cookie.
 */
export class Authenticator {
  constructor(
    private readonly appPasswords: AppPasswordVerifier,
    private readonly sessions: Sessions,
    private readonly failed: FailedLogins,
    private readonly key: string,
  ) {}

  /**
   * Returns the caller of a request.
   *
   * @throws AuthenticationFailure; RateLimited for too many wrong app passwords; Failure
   *   `unavailable`.
   */
  async authenticate({ headers, ip }: FastifyRequest): Promise<Caller> {
    const session = readSession(headers.cookie, this.key);
    if (headers.authorization === undefined) return this.bySession(session);
    const sent = sentIn(headers.authorization);
    const hash = sent && appPasswordHash(sent.secret);
    const credential = hash === undefined ? undefined : await this.appPasswords.check(hash, ip);
    if (!credential || !isNamed(credential, sent?.name)) {
      this.failed.count(sent?.name ?? '', ip);
      throw new AuthenticationFailure(hash === undefined ? 'malformed' : 'app_password');
    }
    const own = session?.credentialId === credential.credentialId && (await this.isOpen(session));
    return { ...credential, ...(own && { session }) };
  }

  private async bySession(session: SignedSession | undefined): Promise<Caller> {
    if (!session) throw new AuthenticationFailure('missing');
    const credential = await this.sessions.check(session);
    if (!credential) throw new AuthenticationFailure('session');
    return { ...credential, session };
  }

  /** Returns true for a valid session; false if the account service is unavailable. */
  private async isOpen(session: SignedSession): Promise<boolean> {
    try {
      return (await this.sessions.check(session)) !== undefined;
    } catch (error) {
      if (error instanceof Failure && error.code === 'unavailable') return false;
      throw error;
    }
  }
}

/** Returns true if a credential has this name, in any letter case, or if none was sent. */
export function isNamed({ name }: VerifiedCredential, sent: string | undefined): boolean {
  return sent === undefined || sent.toLowerCase() === name.toLowerCase();
}

function sentIn(authorization: string): Sent | undefined {
  const [, scheme = '', text = ''] = /^(basic|bearer) +([\w.~+/=-]+) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { secret: text };
  // Names and app passwords are ASCII, in any encoding of the client.
  const [, name, secret] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(text, 'base64').toString('latin1')) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}
