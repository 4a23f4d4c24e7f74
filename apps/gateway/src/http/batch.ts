import { type EpisodeEntry, Failure, type RequestOf, type subscribe } from '#contracts';

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

/** The fields of an entry of POST /episodes that are scalars, and their names inside. */
const scalars = {
  podcast_guid: 'podcastGuid',
  sync_id: 'syncId',
  episode_guid: 'episodeGuid',
  title: 'title',
  publish_date: 'publishDate',
  enclosure_url: 'enclosureUrl',
  episode_url: 'episodeUrl',
  temporary_id: 'temporaryId',
} as const;

/** Those that are statuses. */
const statuses = {
  playback_position: 'playbackPosition',
  played_status: 'playedStatus',
  new_status: 'newStatus',
  download_status: 'downloadStatus',
  favorite_status: 'favoriteStatus',
} as const;

/** The entries of POST /episodes; `null` for one that is no object. */
export function episodeEntries(entries: readonly unknown[], most: number): EpisodeEntry[] {
  return counted(entries, most).map((entry) => (isObject(entry) ? episodeEntry(entry) : null));
}

function episodeEntry(entry: Record<string, unknown>): EpisodeEntry {
  const fields: Record<string, unknown> = {};
  for (const [wire, name] of Object.entries(scalars)) {
    if (isSent(entry, wire)) fields[name] = scalar(entry[wire]);
  }
  for (const [wire, name] of Object.entries(statuses)) {
    const sent = entry[wire];
    if (!isSent(entry, wire)) continue;
    if (!isObject(sent)) fields[name] = misplaced;
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
