import {
  type EpisodeEntry,
  faultInHttpUrl,
  faultInText,
  guidSchema,
  parseStatusTime,
  parseTime,
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
  episodeUrl: string;
}

/** The verdict on an entry that can't be applied. */
export type Refusal = Uploaded['failure'][number];

/** An entry whose form is right. */
export interface Upload {
  podcastGuid: string;
  syncId?: string;
  metadata: Partial<Metadata>;
  statuses: Partial<Record<StatusName, Status>>;
  temporaryId?: string | number;
  /** The verdict if it can't be applied after all. */
  refuse(message: string): Refusal;
}

const episodeGuidLimit = 2_048;
const titleLimit = 4_096;

/** The names of the fields as the client knows them. */
const wireNames: Record<string, string> = {
  ...{ podcastGuid: 'podcast_guid', syncId: 'sync_id', episodeGuid: 'episode_guid', title: 'title' },
  ...{ publishDate: 'publish_date', enclosureUrl: 'enclosure_url', episodeUrl: 'episode_url' },
  ...{ playbackPosition: 'playback_position', playedStatus: 'played_status', newStatus: 'new_status' },
  ...{ downloadStatus: 'download_status', favoriteStatus: 'favorite_status', temporaryId: 'temporary_id' },
};

/** The name of a field in HTTP, for messages to the client. */
export function wireName(field: string): string {
  return wireNames[field] ?? field;
}

class Fault extends Error {}

/** Judges the form of one entry by itself (POST /episodes). */
export function judgeUpload(entry: EpisodeEntry): Upload | Refusal {
  const refuse = (message: string): Refusal => ({ ...echo(entry ?? {}), message });
  if (entry === null) return refuse('An entry must be an object');
  try {
    return { ...read(entry), refuse };
  } catch (error) {
    if (error instanceof Fault) return refuse(error.message);
    throw error;
  }
}

function read(entry: NonNullable<EpisodeEntry>): Omit<Upload, 'refuse'> {
  const { temporaryId } = entry;
  if (temporaryId !== undefined && typeof temporaryId !== 'string' && typeof temporaryId !== 'number') {
    throw new Fault('temporary_id is neither a string nor a number');
  }
  if (entry.podcastGuid === undefined) throw new Fault('podcast_guid is missing');
  const statuses = statusNames.map((name) => [name, entry[name] === undefined ? undefined : status(entry[name], name)]);
  return {
    podcastGuid: guid(entry.podcastGuid, 'podcast_guid'),
    ...(entry.syncId !== undefined && { syncId: guid(entry.syncId, 'sync_id') }),
    metadata: withoutMissing({
      episodeGuid: text(entry.episodeGuid, 'episode_guid', episodeGuidLimit),
      title: text(entry.title, 'title', titleLimit),
      publishDate: date(entry.publishDate),
      enclosureUrl: url(entry.enclosureUrl, 'enclosure_url'),
      episodeUrl: url(entry.episodeUrl, 'episode_url'),
    }),
    statuses: withoutMissing(Object.fromEntries(statuses) as Record<StatusName, Status | undefined>),
    ...(temporaryId !== undefined && { temporaryId }),
  };
}

function guid(value: unknown, name: string): string {
  const parsed = guidSchema.safeParse(value);
  if (!parsed.success) throw new Fault(`${name} is not a valid UUID`);
  return parsed.data;
}

function text(value: unknown, name: string, limit: number): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new Fault(`${name} is not a string`);
  const fault = faultInText(value, limit);
  if (fault !== undefined) throw new Fault(`${name} ${fault}`);
  return value;
}

function url(value: unknown, name: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new Fault(`${name} is not a string`);
  const fault = faultInHttpUrl(value);
  if (fault !== undefined) throw new Fault(`${name}: ${fault}`);
  return value;
}

function date(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (!time) throw new Fault('publish_date is not a date and time (RFC 3339)');
  return toStamp(time);
}

function status(sent: unknown, field: StatusName): Status {
  const name = wireName(field);
  if (typeof sent !== 'object' || sent === null) throw new Fault(`${name} is not an object with value and timestamp`);
  const { value, timestamp } = sent as { value?: unknown; timestamp?: unknown };
  const time = typeof timestamp === 'string' ? parseStatusTime(timestamp) : undefined;
  if (!time) throw new Fault(`${name}: the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)`);
  return { value: statusValue(value, field), at: time.instant, minuteForm: time.minuteForm };
}

function statusValue(value: unknown, field: StatusName): number | boolean {
  if (field !== 'playbackPosition') {
    if (typeof value !== 'boolean') throw new Fault(`${wireName(field)}: the value is not a boolean`);
    return value;
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new Fault('playback_position: the value is not a number of seconds, 0 or more');
  }
  // Adding zero turns the JSON number -0 into 0.
  return value + 0;
}

/** The identifiers of a refused entry, as they were sent. */
function echo(entry: NonNullable<EpisodeEntry>): Omit<Refusal, 'message'> {
  const { podcastGuid, syncId, episodeGuid, temporaryId } = entry;
  const named = typeof temporaryId === 'string' || typeof temporaryId === 'number';
  return {
    ...(typeof podcastGuid === 'string' && { podcast_guid: podcastGuid }),
    ...(typeof syncId === 'string' && { sync_id: syncId }),
    ...(typeof episodeGuid === 'string' && { episode_guid: episodeGuid }),
    ...(named && { temporary_id: temporaryId }),
  };
}

function withoutMissing<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}
