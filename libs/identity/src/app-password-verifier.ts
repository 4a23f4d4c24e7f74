import { randomUUID } from 'node:crypto';
import { checkCredential, type ReplyOf, unavailable } from '#contracts';
import type { StreamClient } from '#transport';
import { CredentialCache } from './credential-cache.js';
import { LookupLimit } from './lookup-limit.js';
import { RateCounter } from './rate-counter.js';
import { networkOf } from './network.js';
import type { Revocations } from './revocations.js';

/** The user and the permissions of an app password. */
export type VerifiedCredential = NonNullable<ReplyOf<typeof checkCredential>['credential']>;

/** Limits of the cache and of lookups. Only tests override them. */
export interface AppPasswordBounds {
  /** Maximum cached app passwords; the least recently used is evicted. */
  readonly max: number;
  /** Milliseconds for which a cached app password is used without a lookup. */
  readonly ttl: number;
  /**
   * Negative cache: maximum cached nonexistent app passwords, and their lifetime in milliseconds. A
   * client that retries continuously causes one lookup per `ttl`.
   */
  readonly missing: { readonly max: number; readonly ttl: number };
  /** Maximum concurrent lookups of all app passwords; further ones fail as `unavailable`. */
  readonly pending: number;
  /** Maximum concurrent lookups of app passwords that were never cached. */
  readonly uncached: number;
  /** Maximum concurrent lookups of app passwords from one network that were never cached. */
  readonly uncachedPerNetwork: number;
  /** Maximum nonexistent app passwords from one network in a minute; then RateLimited is thrown. */
  readonly failures: number;
  /** Maximum networks whose failures are counted; the least recently used is evicted. */
  readonly networks: number;
}

const defaultBounds: AppPasswordBounds = {
  max: 10_000,
  ttl: 60_000,
  missing: { max: 1_000, ttl: 5_000 },
  pending: 256,
  uncached: 64,
  uncachedPerNetwork: 16,
  failures: 60,
  networks: 10_000,
};

/**
 * Looks up the user of an app password in the account service, and caches the answer ({@link
 * CredentialCache}). Invariants:
 * - The network of a client that guesses well-formed app passwords has at most `uncachedPerNetwork`
 *   concurrent lookups. After `failures` wrong guesses in a minute, further ones cause no lookup.
 * - Lookups of app passwords that this process has cached before do not count against these limits.
 */
export class AppPasswordVerifier {
  private readonly cache: CredentialCache<VerifiedCredential, string>;
  private readonly failureCounter: RateCounter;
  private pendingLookups = 0;
  /** Limits lookups of app passwords that were never cached, by network. */
  private readonly uncachedLimit: LookupLimit;

  constructor(
    private readonly client: StreamClient,
    revocations: Revocations,
    private readonly bounds: AppPasswordBounds = defaultBounds,
  ) {
    this.failureCounter = new RateCounter(bounds.failures, bounds.networks);
    this.uncachedLimit = new LookupLimit(bounds.uncached, bounds.uncachedPerNetwork);
    this.cache = new CredentialCache({
      max: bounds.max,
      ttl: bounds.ttl,
      missing: bounds.missing,
      lookUp: (hash, address, wasCached) =>
        wasCached ? this.lookUp(hash) : this.lookUpUncached(hash, networkOf(address)),
      expiresAt: ({ expiresAt }) => (expiresAt === undefined ? undefined : Date.parse(expiresAt)),
      isRevoked: ({ userId, credentialId }, lookedUpAt) =>
        revocations.isRevoked({ userId, credentialId, lookedUpAt }),
    });
  }

  /** Numbers of cached entries and counted networks, for tests. */
  get size(): { found: number; missing: number; networks: number } {
    return { ...this.cache.size, networks: this.failureCounter.size };
  }

  /**
   * Returns the credential of an app password by its hash; `undefined` if it does not exist.
   *
   * @param address the client's IP address.
   * @throws RateLimited after too many nonexistent app passwords from the client's network; Failure
   *   `unavailable` if the account service does not answer or too many lookups run.
   */
  check(hash: string, address: string): Promise<VerifiedCredential | undefined> {
    return this.cache.find(hash, address);
  }

  private async lookUp(hash: string): Promise<VerifiedCredential | undefined> {
    if (this.pendingLookups >= this.bounds.pending) throw tooManyLookups;
    this.pendingLookups += 1;
    try {
      const { credential } = await this.client.call(
        checkCredential,
        { hash },
        { requestId: randomUUID() },
      );
      return credential ?? undefined;
    } finally {
      this.pendingLookups -= 1;
    }
  }

  private async lookUpUncached(
    hash: string,
    network: string,
  ): Promise<VerifiedCredential | undefined> {
    this.failureCounter.check(network);
    const lookUp = async () => {
      const credential = await this.lookUp(hash);
      if (!credential) this.failureCounter.add(network);
      return credential;
    };
    return this.uncachedLimit.run(network, lookUp, () => tooManyLookups);
  }
}

/** Created once, because an error for every rejected request would cost too much CPU time. */
const tooManyLookups = unavailable('too many lookups of app passwords are running');
