import { randomUUID } from 'node:crypto';
import { checkCredential, type ReplyOf, unavailable } from '#contracts';
import { call, type StreamClient } from '#transport';
import { networkOf } from './network.js';
import { RateLimited } from './rate.limited.js';
import type { Revocations } from './revocations.js';

/** Whose an app password is, and what it may do. */
export type Credential = NonNullable<ReplyOf<typeof checkCredential>['credential']>;

/** How much is remembered and asked. Other than the usual in tests alone. */
export interface AppPasswordBounds {
  /** How long an answer is believed, in milliseconds. */
  readonly knownMs: number;
  /** App passwords that are remembered. */
  readonly known: number;
  /** The same for those that there are not: long enough for a client that tries again and again. */
  readonly unknownMs: number;
  readonly unknown: number;
  /** Questions at the same time: of all, and of those about what was never known here, in all and of one network. */
  readonly asked: number;
  readonly strange: number;
  readonly strangeOfNetwork: number;
  /** App passwords that there are not of one network in a minute; and networks of which that is counted. */
  readonly wrong: number;
  readonly networks: number;
}

const usual: AppPasswordBounds = {
  knownMs: 60_000,
  known: 10_000,
  unknownMs: 5_000,
  unknown: 1_000,
  asked: 256,
  strange: 64,
  strangeOfNetwork: 16,
  wrong: 60,
  networks: 10_000,
};

/** Over which time wrong ones are counted, in milliseconds. */
const windowMs = 60_000;

/** An app password that was there when somebody asked for it. */
interface Known {
  readonly credential: Credential;
  /** By `performance.now()`, before the question was sent. */
  readonly askedAt: number;
}

/** What of a network was wrong since when. */
interface Wrong {
  since: number;
  count: number;
}

/**
 * Asks the account service whose an app password is, and remembers it.
 * - What is remembered is believed for a minute, never beyond its expiry, and never once it is revoked: then it is asked for
 *   anew. Questions about the same one that come together are one.
 * - What there is not is remembered for moments. A stranger who tries many, all well-formed, has few questions at a time and
 *   a number in a minute; then the network is told to wait, without a question.
 * - An app password that was known here before is asked for however many strangers try on its network.
 */
export class AppPasswords {
  /** The least recently used first; older than they are believed, they still tell a friend from a stranger. */
  private readonly known = new Map<string, Known>();
  /** The oldest first, with the time until which they are not asked for. */
  private readonly unknown = new Map<string, number>();
  private readonly asking = new Map<string, Promise<Known | undefined>>();
  private readonly wrong = new Map<string, Wrong>();
  /** Questions under way about what was never known: in all, and by network. */
  private strange = 0;
  private readonly strangeOf = new Map<string, number>();

  constructor(
    private readonly client: StreamClient,
    private readonly revocations: Revocations,
    private readonly bounds: AppPasswordBounds = usual,
  ) {}

  /** How many are remembered, and how many of which there are none. For tests. */
  get remembered(): { known: number; unknown: number; networks: number } {
    return { known: this.known.size, unknown: this.unknown.size, networks: this.wrong.size };
  }

  /**
   * Whose the app password with this hash is; `undefined` where there is none.
   *
   * @throws RateLimited where the address tried too many that there are not; Failure `unavailable` where nobody can tell.
   */
  async check(hash: string, address: string): Promise<Credential | undefined> {
    const known = this.known.get(hash);
    if (known && this.isBelieved(known)) {
      this.remember(hash, known);
      return known.credential;
    }
    if ((this.unknown.get(hash) ?? 0) > performance.now()) return undefined;
    const begun = this.asking.get(hash) ?? this.askOnce(hash, known ? undefined : networkOf(address));
    const found = await begun;
    if (!found) return undefined;
    // A question that another request began may be older than what was revoked since.
    if (this.isBelieved(found)) return found.credential;
    const again = await (this.asking.get(hash) ?? this.askOnce(hash, undefined));
    return again && this.isBelieved(again) ? again.credential : undefined;
  }

  private isBelieved({ credential, askedAt }: Known): boolean {
    const { userId, credentialId, expiresAt } = credential;
    if (performance.now() >= askedAt + this.bounds.knownMs) return false;
    if (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()) return false;
    return !this.revocations.refuses({ userId, credentialId, askedAt });
  }

  /** @param network of a stranger. */
  private askOnce(hash: string, network: string | undefined): Promise<Known | undefined> {
    this.refuseTooMany(network);
    if (network !== undefined) this.countStrange(network, 1);
    const begun = this.ask(hash)
      .then((found) => {
        if (found) this.remember(hash, found);
        else this.rememberUnknown(hash, network);
        return found;
      })
      .finally(() => {
        this.asking.delete(hash);
        if (network !== undefined) this.countStrange(network, -1);
      });
    this.asking.set(hash, begun);
    return begun;
  }

  private async ask(hash: string): Promise<Known | undefined> {
    const askedAt = performance.now();
    const { credential } = await call(this.client, checkCredential, { hash }, { requestId: randomUUID() });
    return credential ? { credential, askedAt } : undefined;
  }

  private refuseTooMany(network: string | undefined): void {
    if (this.asking.size >= this.bounds.asked) throw tooMany;
    if (network === undefined) return;
    const wrong = this.wrong.get(network);
    const leftMs = wrong && wrong.count >= this.bounds.wrong ? wrong.since + windowMs - performance.now() : 0;
    if (leftMs > 0) throw new RateLimited(Math.ceil(leftMs / 1_000));
    const { strange, strangeOfNetwork } = this.bounds;
    if (this.strange >= strange || (this.strangeOf.get(network) ?? 0) >= strangeOfNetwork) throw tooMany;
  }

  private countStrange(network: string, change: 1 | -1): void {
    const own = (this.strangeOf.get(network) ?? 0) + change;
    this.strange += change;
    if (own > 0) this.strangeOf.set(network, own);
    else this.strangeOf.delete(network);
  }

  private remember(hash: string, known: Known): void {
    this.known.delete(hash);
    this.known.set(hash, known);
    dropOldest(this.known, this.bounds.known);
  }

  private rememberUnknown(hash: string, network: string | undefined): void {
    this.known.delete(hash);
    this.unknown.delete(hash);
    this.unknown.set(hash, performance.now() + this.bounds.unknownMs);
    dropOldest(this.unknown, this.bounds.unknown);
    if (network === undefined) return;
    const now = performance.now();
    const counted = this.wrong.get(network);
    const wrong = counted && now < counted.since + windowMs ? counted : { since: now, count: 0 };
    wrong.count += 1;
    this.wrong.delete(network);
    this.wrong.set(network, wrong);
    dropOldest(this.wrong, this.bounds.networks);
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const tooMany = unavailable('too many app passwords are asked for');
