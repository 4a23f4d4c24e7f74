import { randomUUID } from 'node:crypto';
import { checkCredential, type ReplyOf, unavailable } from '#contracts';
import type { StreamClient } from '#transport';
import { CredentialCache } from './credential.cache.js';
import { FailureCounter } from './failure.counter.js';
import { networkOf } from './network.js';
import type { Revocations } from './revocations.js';

/** Whose an app password is, and what it may do. */
export type Credential = NonNullable<ReplyOf<typeof checkCredential>['credential']>;

/** How much is cached and asked. Other than the usual in tests alone. */
export interface AppPasswordBounds {
  /** App passwords that are cached, and for how long, in milliseconds. */
  readonly max: number;
  readonly ttl: number;
  /** The same for those that do not exist: long enough for a client that tries again and again. */
  readonly missing: { readonly max: number; readonly ttl: number };
  /** Questions at the same time: of all, and of those about app passwords that were never cached, in all and by network. */
  readonly pending: number;
  readonly strangers: number;
  readonly strangersOfNetwork: number;
  /** App passwords of one network in a minute that do not exist; and networks of which that is counted. */
  readonly failures: number;
  readonly networks: number;
}

const usual: AppPasswordBounds = {
  max: 10_000,
  ttl: 60_000,
  missing: { max: 1_000, ttl: 5_000 },
  pending: 256,
  strangers: 64,
  strangersOfNetwork: 16,
  failures: 60,
  networks: 10_000,
};

/**
 * Asks the account service whose an app password is, and caches the answer ({@link CredentialCache}).
 * - A stranger who tries many, all well-formed, has few questions at a time and a number in a minute; then the network is
 *   told to wait, without a question.
 * - An app password that was cached here before is asked for however many strangers try on its network.
 */
export class AppPasswords {
  private readonly cache: CredentialCache<Credential, string>;
  private readonly failures: FailureCounter;
  private pending = 0;
  /** Questions under way about app passwords that were never cached: in all, and by network. */
  private strangers = 0;
  private readonly strangersOf = new Map<string, number>();

  constructor(
    private readonly client: StreamClient,
    revocations: Revocations,
    private readonly bounds: AppPasswordBounds = usual,
  ) {
    this.failures = new FailureCounter(bounds.failures, bounds.networks);
    this.cache = new CredentialCache({
      max: bounds.max,
      ttl: bounds.ttl,
      missing: bounds.missing,
      ask: (hash, address, wasCached) => (wasCached ? this.ask(hash) : this.askForStranger(hash, networkOf(address))),
      expiresAt: ({ expiresAt }) => (expiresAt === undefined ? undefined : Date.parse(expiresAt)),
      isRevoked: ({ userId, credentialId }, askedAt) => revocations.refuses({ userId, credentialId, askedAt }),
    });
  }

  /** App passwords and those that do not exist that are cached, and networks that are counted. For tests. */
  get size(): { found: number; missing: number; networks: number } {
    return { ...this.cache.size, networks: this.failures.size };
  }

  /**
   * Whose the app password with this hash is; `undefined` where there is none.
   *
   * @throws RateLimited where the address tried too many that do not exist; Failure `unavailable` where nobody can tell.
   */
  check(hash: string, address: string): Promise<Credential | undefined> {
    return this.cache.find(hash, address);
  }

  private async ask(hash: string): Promise<Credential | undefined> {
    if (this.pending >= this.bounds.pending) throw tooMany;
    this.pending += 1;
    try {
      const { credential } = await this.client.call(checkCredential, { hash }, { requestId: randomUUID() });
      return credential ?? undefined;
    } finally {
      this.pending -= 1;
    }
  }

  private async askForStranger(hash: string, network: string): Promise<Credential | undefined> {
    this.failures.check(network);
    const ofNetwork = this.strangersOf.get(network) ?? 0;
    if (this.strangers >= this.bounds.strangers || ofNetwork >= this.bounds.strangersOfNetwork) throw tooMany;
    this.countStranger(network, 1);
    try {
      const credential = await this.ask(hash);
      if (!credential) this.failures.add(network);
      return credential;
    } finally {
      this.countStranger(network, -1);
    }
  }

  private countStranger(network: string, change: 1 | -1): void {
    const own = (this.strangersOf.get(network) ?? 0) + change;
    this.strangers += change;
    if (own > 0) this.strangersOf.set(network, own);
    else this.strangersOf.delete(network);
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const tooMany = unavailable('too many app passwords are asked for');
