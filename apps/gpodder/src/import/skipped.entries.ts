import { count } from '#runtime';

/** The largest number of skipped entries that are listed one by one, and characters of one. */
const [maxListed, maxCharacters] = [50, 200];

/** Counts the entries of another server that an import skips, and lists them with their reasons. */
export class SkippedEntries {
  total = 0;
  private readonly listed: string[] = [];
  /** The number of entries that are not listed, by kind and reason. */
  private readonly others = new Map<string, number>();

  /**
   * Notes one entry.
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

  /** Notes entries that are only counted. */
  addMany(kind: string, entries: number, reason: string): void {
    if (entries === 0) return;
    this.total += entries;
    const key = `${kind}: ${reason}`;
    this.others.set(key, (this.others.get(key) ?? 0) + entries);
  }

  /** The lines to print. */
  get lines(): string[] {
    return [...this.listed, ...[...this.others].map(([key, entries]) => `skipped ${count(entries)} × ${key}`)];
  }
}

/** Replaces what a terminal would act on. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '\ufffd');
}
