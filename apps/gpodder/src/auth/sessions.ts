import { randomUUID } from 'node:crypto';
import { checkSession, endSession, unavailable } from '#contracts';
import { type Credential, CredentialCache, type Revocations } from '#identity';
import type { StreamClient } from '#transport';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import type { SignedSession } from './session.cookie.js';

/** Questions at the same time: in all, and about sessions of one app password, of which a user can have any number signed. */
const [mostPending, mostPendingOfOne] = [256, 4];

/**
 * Asks the account service whose a session is, and caches the answer as that of an app password. Only sessions that were
 * signed here are asked for, so a stranger costs nobody a question; and few of one app password at a time, so
 * nobody takes the others' places.
 */
export class Sessions {
  private readonly cache: CredentialCache<Credential, SignedSession>;
  /** Questions under way: in all, and by app password. */
  private pending = 0;
  private readonly pendingOf = new Map<string, number>();
  private readonly count = gpodderSessionMetrics();

  constructor(
    private readonly client: StreamClient,
    revocations: Revocations,
  ) {
    this.cache = new CredentialCache({
      max: 20_000,
      ttl: 60_000,
      missing: { max: 20_000, ttl: 5_000 },
      ask: (_sessionId, session) => this.ask(session),
      expiresAt: ({ expiresAt }) => (expiresAt === undefined ? undefined : Date.parse(expiresAt)),
      isRevoked: ({ userId, credentialId }, askedAt, gid) =>
        revocations.refuses({ userId, credentialId, gid, askedAt }),
    });
  }

  /**
   * Whose the session is; `undefined` where it was ended.
   *
   * @throws Failure `unavailable` where nobody can tell.
   */
  async check(session: SignedSession): Promise<Credential | undefined> {
    const credential = await this.cache.find(session.sessionId, session);
    if (!credential) this.count('refused');
    return credential;
  }

  /** Ends a session for good. Twice is once. @throws Failure `unavailable` */
  async end(session: SignedSession): Promise<void> {
    await this.client.call(endSession, session, { requestId: randomUUID() });
    this.cache.remove(session.sessionId);
  }

  private async ask(session: SignedSession): Promise<Credential | undefined> {
    const { credentialId } = session;
    const ofOne = this.pendingOf.get(credentialId) ?? 0;
    if (this.pending >= mostPending || ofOne >= mostPendingOfOne) {
      this.count('busy');
      throw tooMany;
    }
    this.pending += 1;
    this.pendingOf.set(credentialId, ofOne + 1);
    try {
      return (await this.client.call(checkSession, session, { requestId: randomUUID() })).credential ?? undefined;
    } finally {
      this.pending -= 1;
      const left = (this.pendingOf.get(credentialId) ?? 1) - 1;
      if (left > 0) this.pendingOf.set(credentialId, left);
      else this.pendingOf.delete(credentialId);
    }
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const tooMany = unavailable('too many sessions are asked for');
