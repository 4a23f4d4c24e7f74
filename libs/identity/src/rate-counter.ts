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
 * Counts events by key in windows of a minute, in this process. The number of keys is limited: a
 * new key evicts the key whose last event is the oldest. Libraries for in-memory limits keep every
 * key for its window, so a client with many addresses could fill the memory.
 */
export class RateCounter {
  private readonly counts: LRUCache<string, number>;

  /** @param limit maximum events of one key in a window. */
  constructor(
    private readonly limit: number,
    maxKeys = 10_000,
  ) {
    this.counts = new LRUCache({ max: maxKeys, ttl: 60_000, noUpdateTTL: true });
  }

  /** Number of counted keys, for tests. */
  get size(): number {
    return this.counts.size;
  }

  /** Counts an event of a key, without a check of the limit. */
  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** Checks whether a key is below its limit. @throws RateLimited if it is not. */
  check(key: string): void {
    if ((this.counts.get(key) ?? 0) < this.limit) return;
    throw new RateLimited(Math.max(Math.ceil(this.counts.getRemainingTTL(key) / 1_000), 1));
  }

  /** Counts an event of a key. @throws RateLimited if the limit is reached: it is not counted. */
  consume(key: string): void {
    this.check(key);
    this.add(key);
  }
}
