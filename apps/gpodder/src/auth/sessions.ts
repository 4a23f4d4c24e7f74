import { randomUUID } from 'node:crypto';
import { checkSession, endSession, unavailable } from '#contracts';
import { type VerifiedCredential, CredentialCache, type Revocations } from '#identity';
import type { StreamClient } from '#transport';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import type { SignedSession } from './session.cookie.js';

/** Maximum concurrent lookups: in total, and for sessions of one app password. */
const [mostPending, mostPendingOfOne] = [256, 4];

/**
 * Looks up sessions in the account service, and caches the answers like those of app passwords.
 * Only signed sessions are looked up, so forged ones cost nothing. A limit per app password keeps
 * capacity for others.
 */
export class Sessions {
  private readonly cache: CredentialCache<VerifiedCredential, SignedSession>;
  /** Running lookups: in total, and by app password. */
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
   * Returns the credential of a session; `undefined` if it has ended.
   *
   * @throws Failure `unavailable` if the account service does not answer or too many lookups run.
   */
  async check(session: SignedSession): Promise<VerifiedCredential | undefined> {
    const credential = await this.cache.find(session.sessionId, session);
    if (!credential) this.count('refused');
    return credential;
  }

  /** Ends a session permanently. Idempotent. @throws Failure `unavailable` */
  async end(session: SignedSession): Promise<void> {
    await this.client.call(endSession, session, { requestId: randomUUID() });
    this.cache.remove(session.sessionId);
  }

  private async ask(session: SignedSession): Promise<VerifiedCredential | undefined> {
    const { credentialId } = session;
    const ofOne = this.pendingOf.get(credentialId) ?? 0;
    if (this.pending >= mostPending || ofOne >= mostPendingOfOne) {
      this.count('busy');
      throw tooMany;
    }
    this.pending += 1;
    this.pendingOf.set(credentialId, ofOne + 1);
    try {
      return (
        (await this.client.call(checkSession, session, { requestId: randomUUID() })).credential ??
        undefined
      );
    } finally {
      this.pending -= 1;
      const left = (this.pendingOf.get(credentialId) ?? 1) - 1;
      if (left > 0) this.pendingOf.set(credentialId, left);
      else this.pendingOf.delete(credentialId);
    }
  }
}

/** Created once, because a refusal must cost less than the request. */
const tooMany = unavailable('too many sessions are asked for');
