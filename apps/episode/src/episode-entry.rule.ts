import {
  echoLimits,
  type EntryFailureCode,
  type EpisodeEntry,
  isJsonObject,
  readEntry,
  type Uploaded,
} from '#contracts';

/** An entry that can't be applied: why, and the identifiers that it was sent with. */
export type FailedEntry = Uploaded['failure'][number];

/** An entry whose form is right, with the metadata that it knows. */
export interface Upload extends Omit<EpisodeEntry, 'podcastGuid'> {
  /** What names its subscription: a guid, or where clients name it so the URL of its feed. */
  podcast: string;
  /** The entry as it came. */
  sent: Readonly<Record<string, unknown>>;
}

/** Judges the form of one entry by itself (docs/interface.md, "Episodes" and "Texts"). */
export function validateEntry(sent: unknown): Upload | FailedEntry {
  if (!isJsonObject(sent)) return { code: 'invalid_value', message: 'An entry must be an object' };
  const read = readEntry(sent);
  const isFault = 'code' in read;
  // Without a subscription nothing else of an entry counts, but for the name that its failure is recognised by.
  if ((sent.podcast_guid ?? undefined) === undefined && !(isFault && read.field === 'temporary_id'))
    return failedEntry({ sent }, 'missing_identifier', 'podcast_guid is missing');
  if (isFault) return failedEntry({ sent }, read.code, read.message);
  const { podcastGuid, ...entry } = read;
  return { ...entry, podcast: podcastGuid as string, sent };
}

/** The failure of an entry, with its identifiers as they were sent; longer than they may be, one is left out. */
export function failedEntry({ sent }: Pick<Upload, 'sent'>, code: EntryFailureCode, message: string): FailedEntry {
  const failed: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(echoLimits)) {
    const value = sent[name];
    const isName = typeof value === 'string' && Buffer.byteLength(value) <= limit;
    if (isName || (name === 'temporary_id' && Number.isFinite(value))) failed[name] = value;
  }
  return { ...failed, code, message };
}
