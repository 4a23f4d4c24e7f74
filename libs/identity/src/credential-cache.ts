import { LRUCache } from 'lru-cache';

/** Limits and callbacks of a {@link CredentialCache}. */
export interface CredentialCacheOptions<Value, Input> {
  /** Maximum cached values; the least recently used is evicted. */
  readonly max: number;
  /** Lifetime of a value in milliseconds; its own expiry can be earlier. */
  readonly ttl: number;
  /** Maximum cached keys without a value, and their lifetime in ms. Default: not cached. */
  readonly missing?: { readonly max: number; readonly ttl: number };
  /**
   * Looks up the value of a key. All waiting callers get its error. Errors are not cached.
   *
   * @param input a further input of the lookup, such as the token or the client's address.
   * @param wasCached true if the cache has a value of the key that is no longer valid.
   * @returns `undefined` if the key has no value.
   */
  lookUp(key: string, input: Input, wasCached: boolean): Promise<Value | undefined>;
  /** Returns the expiry in milliseconds since the epoch; `undefined` for none. */
  expiresAt(value: Value): number | undefined;
  /** Returns true if a value was revoked after its lookup at `lookedUpAt` (`performance.now()`). */
  isRevoked(value: Value, lookedUpAt: number, key: string): boolean;
}

/** A value and the time of its lookup (`performance.now()`). */
interface CacheEntry<Value> {
  readonly value: Value;
  readonly lookedUpAt: number;
}

/**
 * Caches credentials, so that most requests need no lookup. Invariants:
 * - A value is used for at most `ttl`, and never after its expiry or revocation. After that it is
 *   looked up again. If a revocation arrives during a lookup, there is a second lookup.
 * - A key has one lookup at a time. All requests for the key share it.
 * - Keys without a value have their own cache, so that guesses evict no credential.
 */
export class CredentialCache<Value extends object, Input = undefined> {
  /** Values stay here after their `ttl`, because they show which keys were valid before. */
  private readonly cachedEntries: LRUCache<string, CacheEntry<Value>>;
  private readonly missingKeys: LRUCache<string, true> | undefined;
  private readonly pendingLookups = new Map<string, Promise<CacheEntry<Value> | undefined>>();

  constructor(private readonly options: CredentialCacheOptions<Value, Input>) {
    this.cachedEntries = new LRUCache({ max: options.max });
    if (options.missing) this.missingKeys = new LRUCache(options.missing);
  }

  /** Numbers of cached values and of cached keys without a value, for tests. */
  get size(): { found: number; missing: number } {
    return { found: this.cachedEntries.size, missing: this.missingKeys?.size ?? 0 };
  }

  /** Returns the value of a key; `undefined` if it has none. @throws errors of the lookup. */
  async find(key: string, input: Input): Promise<Value | undefined> {
    const cached = this.cachedEntries.get(key);
    if (cached && this.isValid(cached, key)) return cached.value;
    if (this.missingKeys?.has(key)) return undefined;
    const entry = await this.lookUpOnce(key, input, cached !== undefined);
    if (!entry || this.isValid(entry, key)) return entry?.value;
    const secondEntry = await this.lookUpOnce(key, input, true);
    return secondEntry && this.isValid(secondEntry, key) ? secondEntry.value : undefined;
  }

  /** Removes the value of a key and adds the key to the negative cache. */
  remove(key: string): void {
    this.cachedEntries.delete(key);
    this.missingKeys?.set(key, true);
  }

  private isValid({ value, lookedUpAt }: CacheEntry<Value>, key: string): boolean {
    const { ttl, expiresAt, isRevoked } = this.options;
    if (performance.now() >= lookedUpAt + ttl) return false;
    return (expiresAt(value) ?? Infinity) > Date.now() && !isRevoked(value, lookedUpAt, key);
  }

  private lookUpOnce(
    key: string,
    input: Input,
    wasCached: boolean,
  ): Promise<CacheEntry<Value> | undefined> {
    const lookup =
      this.pendingLookups.get(key) ??
      this.lookUp(key, input, wasCached).finally(() => this.pendingLookups.delete(key));
    this.pendingLookups.set(key, lookup);
    return lookup;
  }

  private async lookUp(
    key: string,
    input: Input,
    wasCached: boolean,
  ): Promise<CacheEntry<Value> | undefined> {
    const lookedUpAt = performance.now();
    const value = await this.options.lookUp(key, input, wasCached);
    if (!value) {
      this.remove(key);
      return undefined;
    }
    const entry = { value, lookedUpAt };
    this.cachedEntries.set(key, entry);
    return entry;
  }
}
