import { LRUCache } from 'lru-cache';

/** What a {@link CredentialCache} holds and asks. */
export interface CredentialCacheOptions<Value, Question> {
  /** Values that are cached at most; the least recently used is evicted. */
  readonly max: number;
  /** How long a value is used, in milliseconds; its own expiry may come earlier. */
  readonly ttl: number;
  /** Keys of which it is cached that they have no value, and for how long, in milliseconds. By default none. */
  readonly missing?: { readonly max: number; readonly ttl: number };
  /**
   * Asks for the value of a key. What it throws goes to everybody who waits, and is not cached.
   *
   * @param wasCached whether this key had a value before, valid or not.
   * @returns `undefined` where the key has no value.
   */
  ask(key: string, question: Question, wasCached: boolean): Promise<Value | undefined>;
  /** When a value expires, in milliseconds since the epoch; `undefined`: never. */
  expiresAt(value: Value): number | undefined;
  /** Whether a value was revoked since it was asked for, by `performance.now()`. */
  isRevoked(value: Value, askedAt: number, key: string): boolean;
}

/** A value, and when it was asked for, by `performance.now()`. */
interface Found<Value> {
  readonly value: Value;
  readonly askedAt: number;
}

/**
 * Caches what is known of credentials, so that most requests ask nobody. Invariants:
 * - A value is used for `ttl` at most, never beyond its expiry and never once it is revoked. It is asked for again then,
 *   and so is an answer that was under way while the revocation came.
 * - There is one question about a key at a time, however many requests wait for its answer.
 * - Keys without a value are cached apart: guesses evict no credential.
 */
export class CredentialCache<Value extends object, Question = undefined> {
  /** Without a TTL: a value that is too old still tells that its credential was good. */
  private readonly found: LRUCache<string, Found<Value>>;
  private readonly missing: LRUCache<string, true> | undefined;
  private readonly pending = new Map<string, Promise<Found<Value> | undefined>>();

  constructor(private readonly options: CredentialCacheOptions<Value, Question>) {
    this.found = new LRUCache({ max: options.max });
    if (options.missing) this.missing = new LRUCache(options.missing);
  }

  /** Values, and keys without one, that are cached. For tests. */
  get size(): { found: number; missing: number } {
    return { found: this.found.size, missing: this.missing?.size ?? 0 };
  }

  /** The value of a key; `undefined` where it has none. @throws what asking throws. */
  async find(key: string, question: Question): Promise<Value | undefined> {
    const cached = this.found.get(key);
    if (cached && this.isValid(cached, key)) return cached.value;
    if (this.missing?.has(key)) return undefined;
    const first = await this.askOnce(key, question, cached !== undefined);
    if (!first || this.isValid(first, key)) return first?.value;
    const second = await this.askOnce(key, question, true);
    return second && this.isValid(second, key) ? second.value : undefined;
  }

  /** Notes that a key has no value any more. */
  remove(key: string): void {
    this.found.delete(key);
    this.missing?.set(key, true);
  }

  private isValid({ value, askedAt }: Found<Value>, key: string): boolean {
    const { ttl, expiresAt, isRevoked } = this.options;
    if (performance.now() >= askedAt + ttl) return false;
    return (expiresAt(value) ?? Infinity) > Date.now() && !isRevoked(value, askedAt, key);
  }

  private askOnce(key: string, question: Question, wasCached: boolean): Promise<Found<Value> | undefined> {
    const asked = this.pending.get(key) ?? this.ask(key, question, wasCached).finally(() => this.pending.delete(key));
    this.pending.set(key, asked);
    return asked;
  }

  private async ask(key: string, question: Question, wasCached: boolean): Promise<Found<Value> | undefined> {
    const askedAt = performance.now();
    const value = await this.options.ask(key, question, wasCached);
    if (!value) {
      this.remove(key);
      return undefined;
    }
    const found = { value, askedAt };
    this.found.set(key, found);
    return found;
  }
}
