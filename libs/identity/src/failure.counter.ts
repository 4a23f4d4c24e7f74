import { LRUCache } from 'lru-cache';
import { RateLimited } from './rate.limited.js';

/**
 * Counts failures by key in windows of a minute, in this process, and of so many keys at most: with one more the key that
 * failed least recently is forgotten. (Limiters that count in memory keep every key for its window, which strangers
 * with many addresses would fill.)
 */
export class FailureCounter {
  private readonly counts: LRUCache<string, number>;

  /** @param limit failures of one key in a window. */
  constructor(
    private readonly limit: number,
    maxKeys = 10_000,
  ) {
    this.counts = new LRUCache({ max: maxKeys, ttl: 60_000, noUpdateTTL: true });
  }

  /** Keys that are counted. For tests. */
  get size(): number {
    return this.counts.size;
  }

  /** Counts a failure. */
  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** @throws RateLimited where a key has failed `limit` times in this window. */
  check(key: string): void {
    if ((this.counts.get(key) ?? 0) < this.limit) return;
    throw new RateLimited(Math.max(Math.ceil(this.counts.getRemainingTTL(key) / 1_000), 1));
  }
}
