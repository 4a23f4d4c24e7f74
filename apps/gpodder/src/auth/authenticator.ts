import { Failure } from '#contracts';
import { AuthenticationFailure } from '#http';
import { appPasswordHash, type AppPasswords, type Credential } from '#identity';
import type { FastifyRequest } from 'fastify';
import type { FailedLogins } from './failed.logins.js';
import { readSession, type SignedSession } from './session.cookie.js';
import type { Sessions } from './sessions.js';

/** Who asks, and with what. */
export interface Caller extends Credential {
  /** The session whose cookie came with the request. Absent where none of this app password did. */
  readonly session?: SignedSession;
}

/** What an `Authorization` header says: a name, of which there is none with a bearer, and an app password. */
interface Sent {
  readonly name?: string;
  readonly secret: string;
}

/**
 * Checks app passwords, by Basic (RFC 7617) or as a bearer, and sessions (docs/reference/gpodder.md, "Authentication"). Where a request
 * has an `Authorization`, that alone decides who asks; else the cookie does.
 */
export class Authenticator {
  constructor(
    private readonly appPasswords: AppPasswords,
    private readonly sessions: Sessions,
    private readonly failed: FailedLogins,
    private readonly key: string,
  ) {}

  /**
   * Names the caller of a request.
   *
   * @throws AuthenticationFailure; RateLimited for too many wrong ones; Failure `unavailable` where nobody can tell.
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

  /** Whether a session that came beside an app password counts; where nobody can tell, the app password suffices. */
  private async isOpen(session: SignedSession): Promise<boolean> {
    try {
      return (await this.sessions.check(session)) !== undefined;
    } catch (error) {
      if (error instanceof Failure && error.code === 'unavailable') return false;
      throw error;
    }
  }
}

/** Whether a credential is that of this name, letter case aside. */
export function isNamed({ name }: Credential, sent: string | undefined): boolean {
  return sent === undefined || sent.toLowerCase() === name.toLowerCase();
}

function sentIn(authorization: string): Sent | undefined {
  const [, scheme = '', text = ''] = /^(basic|bearer) +([\w.~+/=-]+) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { secret: text };
  // Names and app passwords are ASCII, whatever a client encodes them in.
  const [, name, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(text, 'base64').toString('latin1')) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}
