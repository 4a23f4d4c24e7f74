import type { Metadata } from './episode-entry.rule.js';
import { type MatchKey, matchKeys, type Rank } from './match.rule.js';

/** An episode that can be found. */
export interface Placed extends Metadata {
  readonly id: number;
  readonly subscriptionId: number;
}

/** The rows under one key. */
interface Bucket {
  ids: Set<number>;
  /** `undefined`: to be looked for. */
  lowest: number | undefined;
}

/**
 * Episodes by everything that they are found by ({@link matchKeys}), so that a look-up costs the same however many
 * there are. Texts are looked at once and stand in keys as numbers.
 */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  private readonly buckets = new Map<string, Bucket>();

  /** How sure the surest match is, and the lowest row id of those as sure. */
  find(subscriptionId: number, sought: Metadata): { rank: Rank; id: number } | undefined {
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(sought, false)) {
      if (best && best.rank < key.rank) break;
      const id = this.lowest(this.print(subscriptionId, key));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  place(row: Placed): void {
    for (const key of this.keysOf(row)) {
      const bucket = this.buckets.get(key);
      if (!bucket) this.buckets.set(key, { ids: new Set([row.id]), lowest: row.id });
      else {
        bucket.ids.add(row.id);
        if (bucket.lowest !== undefined && row.id < bucket.lowest) bucket.lowest = row.id;
      }
    }
  }

  remove(row: Placed): void {
    for (const key of this.keysOf(row)) {
      const bucket = this.buckets.get(key);
      bucket?.ids.delete(row.id);
      if (bucket?.lowest === row.id) bucket.lowest = undefined;
    }
  }

  private lowest(key: string): number | undefined {
    const bucket = this.buckets.get(key);
    if (!bucket || bucket.ids.size === 0) return undefined;
    if (bucket.lowest === undefined) {
      let lowest = Infinity;
      for (const id of bucket.ids) lowest = Math.min(lowest, id);
      bucket.lowest = lowest;
    }
    return bucket.lowest;
  }

  private keysOf(row: Placed): string[] {
    return matchKeys(row, true).map((key) => this.print(row.subscriptionId, key));
  }

  private print(subscriptionId: number, { kind, texts: [a, b] }: MatchKey): string {
    return `${subscriptionId} ${kind} ${this.numberOf(a)} ${this.numberOf(b)}`;
  }

  private numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size);
    return this.numbers.size - 1;
  }
}
