import { LRUCache } from 'lru-cache';

/** Thrown if a client sends more requests than a limit allows. */
export class RateLimited extends Error {
  /** @param retryAfter seconds until requests are allowed again. */
  constructor(readonly retryAfter: number) {
    super('too many requests');
    this.name = 'RateLimited';
  }
}

/**
 * Counts events by key in this process, in windows of a minute from the first event of a key. Above
 * `maxKeys`, a new key evicts the least recently used key. Libraries for in-memory limits store
 * every key for its window, so a client with many addresses could fill the memory.
 */
export class RateCounter {
  private readonly countsByKey: LRUCache<string, number>;

  /** @param limit maximum events of one key in a window. */
  constructor(
    private readonly limit: number,
    maxKeys = 10_000,
  ) {
    this.countsByKey = new LRUCache({ max: maxKeys, ttl: 60_000, noUpdateTTL: true });
  }

  /** Number of counted keys, for tests. */
  get size(): number {
    return this.countsByKey.size;
  }

  /** Counts an event of a key, without a check of the limit. */
  add(key: string): void {
    this.countsByKey.set(key, (this.countsByKey.get(key) ?? 0) + 1);
  }

  /** Checks a key without counting an event. @throws RateLimited if the limit is reached. */
  check(key: string): void {
    if ((this.countsByKey.get(key) ?? 0) < this.limit) return;
    throw new RateLimited(Math.max(Math.ceil(this.countsByKey.getRemainingTTL(key) / 1_000), 1));
  }

  /** Counts an event of a key, unless the limit is reached. @throws RateLimited in that case. */
  consume(key: string): void {
    this.check(key);
    this.add(key);
  }
}
