import { count } from '#runtime';

/** Maximum listed entries, and maximum characters of a listed entry. */
const [maxListed, maxCharacters] = [50, 200];

/** Counts the entries of another server that an import skips, and lists them with their reasons. */
export class SkippedEntries {
  total = 0;
  private readonly listed: string[] = [];
  /** Number of unlisted entries by kind and reason. */
  private readonly unlisted = new Map<string, number>();

  /**
   * Adds one entry to the list, or counts it if the list is full.
   *
   * @param kind such as `favourite`.
   * @param entry as the other server sent it.
   */
  add(kind: string, entry: unknown, reason: string): void {
    if (this.listed.length === maxListed) return this.addMany(kind, 1, reason);
    this.total += 1;
    const text = typeof entry === 'string' ? entry : (JSON.stringify(entry) ?? 'undefined');
    this.listed.push(`skipped ${kind} ${printable(text.slice(0, maxCharacters))}: ${reason}`);
  }

  /** Counts entries without listing them. */
  addMany(kind: string, entries: number, reason: string): void {
    if (entries === 0) return;
    this.total += entries;
    const key = `${kind}: ${reason}`;
    this.unlisted.set(key, (this.unlisted.get(key) ?? 0) + entries);
  }

  /** Returns lines for the operator. */
  get lines(): string[] {
    return [
      ...this.listed,
      ...[...this.unlisted].map(([key, entries]) => `skipped ${count(entries)} × ${key}`),
    ];
  }
}

/** Replaces characters that control a terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\ufffd');
}
