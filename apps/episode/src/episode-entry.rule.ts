import {
  type EntryFailureCode,
  type EpisodeEntry,
  faultInSpacedUrl,
  faultInText,
  guidSchema,
  keptTitle,
  parseStatusTime,
  parseTime,
  textLimits,
  toStamp,
  type Uploaded,
} from '#contracts';
import { type Status, type StatusName, statusNames } from './status.rule.js';

/** What identifies and describes an episode; each part may be missing in an upload. */
export interface Metadata {
  episodeGuid: string;
  title: string;
  publishDate: string;
  enclosureUrl: string;
  /** Empty where it is not known. */
  episodeUrl: string;
}

/** The verdict on an entry that can't be applied. */
export type FailedEntry = Uploaded['failure'][number];

/** An entry whose form is right. */
export interface Upload {
  podcastGuid: string;
  syncId?: string;
  metadata: Partial<Metadata>;
  statuses: Partial<Record<StatusName, Status>>;
  temporaryId?: string | number;
  /** The verdict if it can't be applied after all. */
  refuse(code: EntryFailureCode, message: string): FailedEntry;
}

/** The longest temporary_id, and the longest text echoed of what should be a guid, in bytes of UTF-8. */
const nameLimit = 255;

/** The names of the fields as the client knows them. */
const wireNames: Record<string, string> = {
  podcastGuid: 'podcast_guid',
  syncId: 'sync_id',
  episodeGuid: 'episode_guid',
  publishDate: 'publish_date',
  enclosureUrl: 'enclosure_url',
  playbackPosition: 'playback_position',
  playedStatus: 'played_status',
  newStatus: 'new_status',
  downloadStatus: 'download_status',
  favoriteStatus: 'favorite_status',
};

/** The name of a field in HTTP, for messages to the client. */
export function wireName(field: string): string {
  return wireNames[field] ?? field;
}

class Fault extends Error {
  constructor(
    readonly code: EntryFailureCode,
    message: string,
  ) {
    super(message);
  }
}

/** Judges the form of one entry by itself (docs/interface.md, "Episodes" and "Texts"). */
export function validateEntry(entry: EpisodeEntry): Upload | FailedEntry {
  const refuse = (code: EntryFailureCode, message: string): FailedEntry => ({ ...echo(entry ?? {}), code, message });
  if (entry === null) return refuse('invalid_value', 'An entry must be an object');
  try {
    return { ...read(entry), refuse };
  } catch (error) {
    if (error instanceof Fault) return refuse(error.code, error.message);
    throw error;
  }
}

function read(entry: NonNullable<EpisodeEntry>): Omit<Upload, 'refuse'> {
  const temporaryId = ownName(entry.temporaryId);
  if (entry.podcastGuid === undefined) throw new Fault('missing_identifier', 'podcast_guid is missing');
  const statuses = statusNames.map((name) => [name, entry[name] === undefined ? undefined : status(entry[name], name)]);
  return {
    podcastGuid: guid(entry.podcastGuid, 'podcast_guid'),
    ...(entry.syncId !== undefined && { syncId: guid(entry.syncId, 'sync_id') }),
    metadata: withoutMissing({
      episodeGuid: episodeGuid(entry.episodeGuid),
      title: title(entry.title),
      publishDate: date(entry.publishDate),
      enclosureUrl: enclosureUrl(entry.enclosureUrl),
      episodeUrl: episodeUrl(entry.episodeUrl),
    }),
    statuses: withoutMissing(Object.fromEntries(statuses) as Record<StatusName, Status | undefined>),
    ...(temporaryId !== undefined && { temporaryId }),
  };
}

function ownName(value: unknown): string | number | undefined {
  if (value === undefined || typeof value === 'number') return value;
  if (typeof value !== 'string') throw new Fault('invalid_value', 'temporary_id is neither a string nor a number');
  if (Buffer.byteLength(value) > nameLimit)
    throw new Fault('invalid_value', `temporary_id is longer than ${nameLimit} bytes`);
  return value;
}

function guid(value: unknown, name: string): string {
  const parsed = guidSchema.safeParse(value);
  if (!parsed.success) throw new Fault('invalid_guid', `${name} is not a valid UUID`);
  return parsed.data;
}

function text(value: unknown, name: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new Fault('invalid_value', `${name} is not a string`);
  return value.trim();
}

function episodeGuid(value: unknown): string | undefined {
  const sent = text(value, 'episode_guid');
  const fault = sent === undefined ? undefined : faultInText(sent, textLimits.episodeGuid);
  if (fault !== undefined) throw new Fault('invalid_value', `episode_guid ${fault}`);
  return sent;
}

function title(value: unknown): string | undefined {
  const sent = text(value, 'title');
  return sent === undefined ? undefined : keptTitle(sent);
}

function enclosureUrl(value: unknown): string | undefined {
  const url = text(value, 'enclosure_url');
  const fault = url === undefined ? undefined : faultInSpacedUrl(url);
  if (fault !== undefined) throw new Fault('invalid_url', `enclosure_url: ${fault}`);
  return url;
}

/** One that can't be used counts as not sent: it never costs the state. */
function episodeUrl(value: unknown): string | undefined {
  const url = typeof value === 'string' ? value.trim() : '';
  return faultInSpacedUrl(url) === undefined ? url : undefined;
}

function date(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (!time) throw new Fault('invalid_value', 'publish_date is not a date and time (RFC 3339)');
  return toStamp(time);
}

function status(sent: unknown, field: StatusName): Status {
  const name = wireName(field);
  const fault = (words: string) => new Fault('invalid_value', `${name}${words}`);
  if (typeof sent !== 'object' || sent === null) throw fault(' is not an object with value and timestamp');
  const { value, timestamp } = sent as { value?: unknown; timestamp?: unknown };
  const time = typeof timestamp === 'string' ? parseStatusTime(timestamp) : undefined;
  if (!time) throw fault(': the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)');
  return { value: statusValue(value, field, fault), at: time.instant, minuteForm: time.minuteForm };
}

function statusValue(value: unknown, field: StatusName, fault: (words: string) => Fault): number | boolean {
  if (field !== 'playbackPosition') {
    if (typeof value !== 'boolean') throw fault(': the value is not a boolean');
    return value;
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw fault(': the value is not a number of seconds, 0 or more');
  // Adding zero turns the JSON number -0 into 0.
  return value + 0;
}

/** The identifiers of a refused entry, as they were sent; longer than they may be, one is left out. */
function echo(entry: NonNullable<EpisodeEntry>): Omit<FailedEntry, 'code' | 'message'> {
  const short = (value: unknown, limit: number) =>
    typeof value === 'string' && Buffer.byteLength(value) <= limit ? value : undefined;
  const { temporaryId } = entry;
  return withoutMissing({
    podcast_guid: short(entry.podcastGuid, nameLimit),
    sync_id: short(entry.syncId, nameLimit),
    episode_guid: short(entry.episodeGuid, textLimits.episodeGuid),
    enclosure_url: short(entry.enclosureUrl, textLimits.url),
    temporary_id: typeof temporaryId === 'number' ? temporaryId : short(temporaryId, nameLimit),
  });
}

function withoutMissing<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}
