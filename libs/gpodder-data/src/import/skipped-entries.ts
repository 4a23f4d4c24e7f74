import type { EntryFailureCode } from '#contracts';
import { formatCount } from '#runtime';
import type { SkipReason } from '../action.rules.js';

/** Maximum skipped entries that are listed, and maximum characters of each. */
const [maxListed, maxCharacters] = [50, 200];

/** A skipped entry; without `entry`, a number of skipped entries of this kind and reason. */
export interface SkippedEntry {
  readonly kind: 'device' | 'answer' | 'feed' | 'action' | 'favourite';
  readonly reason: SkipReason | EntryFailureCode | 'no_id' | 'no_list' | 'not_a_list';
  readonly entry?: string;
  readonly count: number;
}

/** Counts the entries of another server that an import skips, and lists them with their reasons. */
export class SkippedEntries {
  total = 0;
  private readonly listed: SkippedEntry[] = [];
  /** Numbers of entries that are not listed, by kind and reason. */
  private readonly unlisted = new Map<string, SkippedEntry>();

  /** Adds a skipped entry to the list; counts it if the list is full. */
  add(kind: SkippedEntry['kind'], entry: unknown, reason: SkippedEntry['reason']): void {
    if (this.listed.length === maxListed) return this.addMany(kind, 1, reason);
    this.total += 1;
    const text = typeof entry === 'string' ? entry : (JSON.stringify(entry) ?? 'undefined');
    this.listed.push({ kind, entry: toPrintable(text.slice(0, maxCharacters)), reason, count: 1 });
  }

  /** Counts skipped entries without listing them. */
  addMany(kind: SkippedEntry['kind'], entries: number, reason: SkippedEntry['reason']): void {
    if (entries === 0) return;
    this.total += entries;
    const key = `${kind} ${reason}`;
    const previousCount = this.unlisted.get(key)?.count ?? 0;
    this.unlisted.set(key, { kind, reason, count: previousCount + entries });
  }

  /** Listed entries, then the numbers of unlisted entries. */
  get entries(): SkippedEntry[] {
    return [...this.listed, ...this.unlisted.values()];
  }

  /** Skipped entries as lines of text for the operator. */
  get lines(): string[] {
    return this.entries.map(({ kind, entry, reason, count: number }) =>
      entry === undefined
        ? `skipped ${formatCount(number)} × ${kind}: ${reason}`
        : `skipped ${kind} ${entry}: ${reason}`,
    );
  }
}

/** Replaces characters that control a terminal. */
function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\ufffd');
}
