import { wireNames } from '#contracts';

/** An entry of an upload, with the field names of the rules. */
export type Entry = { [Name in keyof typeof wireNames]?: unknown };

/** Returns an entry with the field names of the interface; a value that is not an object as is. */
export function sentEntry<Sent>(entry: Sent): unknown {
  if (typeof entry !== 'object' || entry === null) return entry;
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [wireNames[name as keyof Entry], value]),
  );
}

/** Returns the body of an upload of these entries. */
export function sentBody(entries: readonly Entry[]): { episodes: unknown[] } {
  return { episodes: entries.map(sentEntry) };
}
