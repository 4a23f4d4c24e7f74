import {
  entryNames,
  type EpisodeEntry,
  episodeStatuses,
  Failure,
  type RequestOf,
  type subscribe,
  wireNames,
} from '#contracts';

/**
 * Batches as they leave for the services: counted before anything else, and with no deeper structure than an entry has.
 * What stands where a scalar should is passed on as an empty array, which every field's rule refuses.
 */
const misplaced: readonly never[] = [];

/** @throws Failure `invalid` for more entries than a batch may have. */
function counted(entries: readonly unknown[], most: number): readonly unknown[] {
  if (entries.length > most) throw new Failure('invalid');
  return entries;
}

/** The entries of POST /subscriptions. @throws Failure `invalid` also where one has no `feed_url` to answer with. */
export function subscriptionEntries(entries: readonly unknown[], most: number): RequestOf<typeof subscribe>['entries'] {
  return counted(entries, most).map((entry) => {
    if (!isObject(entry) || typeof entry.feed_url !== 'string') throw new Failure('invalid');
    const { feed_url: feedUrl, guid } = entry;
    if (guid === undefined || guid === null) return { feedUrl };
    // A guid that is no string is answered like any other invalid guid.
    return { feedUrl, guid: typeof guid === 'string' ? guid : '' };
  });
}

/** The entries of POST /episodes; `null` for one that is no object. */
export function episodeEntries(entries: readonly unknown[], most: number): EpisodeEntry[] {
  return counted(entries, most).map((entry) => (isObject(entry) ? episodeEntry(entry) : null));
}

function episodeEntry(entry: Record<string, unknown>): EpisodeEntry {
  const fields: Record<string, unknown> = {};
  for (const name of entryNames) {
    const sent = entry[wireNames[name]];
    if (!isSent(entry, wireNames[name])) continue;
    if (!(name in episodeStatuses)) fields[name] = scalar(sent);
    else if (!isObject(sent)) fields[name] = misplaced;
    else if (isSent(sent, 'value')) fields[name] = { value: scalar(sent.value), timestamp: scalar(sent.timestamp) };
  }
  return fields;
}

/** Many serializers write `null` for what is absent; a status without a value is absent as well. */
function isSent(entry: Record<string, unknown>, field: string): boolean {
  return Object.hasOwn(entry, field) && entry[field] !== null && entry[field] !== undefined;
}

function scalar(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? misplaced : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
