import {
  echoLimits,
  type EntryFailureCode,
  type EpisodeEntry,
  metadataNames,
  validEntrySchema,
  type Status,
  type StatusName,
  statusNames,
  type Uploaded,
  wireNames,
} from '#contracts';
import type { SentMetadata } from './episode.rule.js';

/** An entry that can't be applied: why, and the identifiers that it was sent with. */
export type FailedEntry = Uploaded['failure'][number];

/** An entry whose form is right, with the metadata that it knows. */
export interface Upload {
  /** What names its subscription: a guid, or where clients name it so the URL of its feed. */
  podcast: string;
  syncId?: string;
  metadata: SentMetadata;
  statuses: Partial<Record<StatusName, Status>>;
  temporaryId?: string | number;
  /** The entry as it came. */
  sent: NonNullable<EpisodeEntry>;
}

/** Judges the form of one entry by itself (docs/interface.md, "Episodes" and "Texts"). */
export function validateEntry(sent: EpisodeEntry): Upload | FailedEntry {
  if (sent === null) return { code: 'invalid_value', message: 'An entry must be an object' };
  const { data, error } = validEntrySchema.safeParse(sent);
  if (data) {
    const { podcastGuid, syncId, temporaryId } = data;
    return {
      podcast: podcastGuid,
      syncId,
      metadata: pick(data, metadataNames),
      statuses: pick(data, statusNames),
      temporaryId,
      sent,
    };
  }
  const issue = error.issues[0] as (typeof error.issues)[number];
  const field = issue.path[0] as keyof typeof wireNames;
  // Without a subscription nothing else of an entry counts, but for the name that its failure is recognised by.
  if (sent.podcastGuid === undefined && field !== 'temporaryId')
    return failedEntry({ sent }, 'missing_identifier', 'podcast_guid is missing');
  const code = issue.code === 'custom' ? (issue.params?.code as EntryFailureCode) : 'invalid_value';
  return failedEntry({ sent }, code, `${wireNames[field]}${issue.message}`);
}

/** The failure of an entry, with its identifiers as they were sent; longer than they may be, one is left out. */
export function failedEntry({ sent }: Pick<Upload, 'sent'>, code: EntryFailureCode, message: string): FailedEntry {
  const failed: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(echoLimits) as [keyof typeof echoLimits, number][]) {
    const value = sent[name];
    const isName = typeof value === 'string' && Buffer.byteLength(value) <= limit;
    if (isName || (name === 'temporaryId' && typeof value === 'number')) failed[wireNames[name]] = value;
  }
  return { ...failed, code, message };
}

/** Those of the named fields that were sent. */
export function pick<Fields extends object, Name extends keyof Fields>(fields: Fields, names: readonly Name[]) {
  const picked: { [Of in Name]?: NonNullable<Fields[Of]> } = {};
  for (const name of names) if (fields[name] !== undefined) picked[name] = fields[name] as NonNullable<Fields[Name]>;
  return picked;
}
