import { randomUUID } from 'node:crypto';
import { checkSession, endSession, unavailable } from '#contracts';
import { CredentialCache, LookupLimit, type Revocations, type VerifiedCredential } from '#identity';
import type { StreamClient } from '#transport';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import type { SignedSession } from './session-cookie.js';

/**
 * Maximum concurrent lookups: in total, and for sessions of one app password. Further lookups fail
 * as `unavailable`.
 */
const [maxLookups, maxLookupsPerCredential] = [256, 4];

/**
 * Looks up sessions in the account service, and caches the results.
 *
 * Invariants:
 * - Only signed sessions are looked up, so that forged cookies cause no load.
 * - One app password cannot use up all concurrent lookups.
 * - A revoked or ended session is rejected within a second.
 */
export class GpodderSessions {
  private readonly cache: CredentialCache<VerifiedCredential, SignedSession>;
  /** Limits lookups by app password. */
  private readonly lookupLimit = new LookupLimit(maxLookups, maxLookupsPerCredential);
  private readonly countOutcome = gpodderSessionMetrics();

  constructor(
    private readonly client: StreamClient,
    revocations: Revocations,
  ) {
    this.cache = new CredentialCache({
      max: 20_000,
      ttl: 60_000,
      missing: { max: 20_000, ttl: 5_000 },
      lookUp: (_sessionId, session) => this.lookUp(session),
      expiresAt: ({ expiresAt }) => (expiresAt === undefined ? undefined : Date.parse(expiresAt)),
      isRevoked: ({ userId, credentialId }, lookedUpAt, gid) =>
        revocations.isRevoked({ userId, credentialId, gid, lookedUpAt }),
    });
  }

  /**
   * Returns the credential of a session; `undefined` if the session has ended.
   *
   * @throws Failure `unavailable` if the account service does not answer or too many lookups run.
   */
  async check(session: SignedSession): Promise<VerifiedCredential | undefined> {
    const credential = await this.cache.find(session.sessionId, session);
    if (!credential) this.countOutcome('refused');
    return credential;
  }

  /** Ends a session permanently. Idempotent. @throws Failure `unavailable`. */
  async end(session: SignedSession): Promise<void> {
    await this.client.call(endSession, session, { requestId: randomUUID() });
    this.cache.remove(session.sessionId);
  }

  private async lookUp(session: SignedSession): Promise<VerifiedCredential | undefined> {
    const readCredential = async () => {
      const options = { requestId: randomUUID() };
      const { credential } = await this.client.call(checkSession, session, options);
      return credential ?? undefined;
    };
    return this.lookupLimit.run(session.credentialId, readCredential, () => {
      this.countOutcome('busy');
      return tooManyLookups;
    });
  }
}

/** One shared error, because creating an Error for each rejection costs more than the lookup. */
const tooManyLookups = unavailable('too many session lookups');
