import { z } from 'zod';
import { faultInSpacedUrl, faultInText } from './feed-url.js';
import { textLimits } from './limits.js';
import { type EntryFailureCode, entryFailureCode, shownGuid, shownStamp } from './shown.schemas.js';
import { guidSchema, storedTitle, parseStatusTime, parseTime, toStamp } from './values.js';

// Defines the fields of an episode (docs/reference/episodes.md, "Episodes"): validation of an entry
// of POST /episodes, error messages, and the form of answers. Messages between processes, columns,
// JSON and OpenAPI are generated from these definitions. Steps for a new status:
// docs/design/new-status.md.

/** A status of an episode: a value with the client's time. The status with the latest time wins. */
export interface Status {
  value: number | boolean;
  /** Client's time of the change, in the form of {@link ClientTime.instant}: comparable as text. */
  at: string;
  /** True if the client sent the time without seconds. */
  minuteForm: boolean;
}

/** Maximum bytes of `temporary_id`, and of a guid that a failure repeats (UTF-8). */
const maxNameBytes = 255;

/** The error of a field. `words` is its message without the name of the field. */
class FieldFault {
  constructor(
    readonly words: string,
    readonly code: EntryFailureCode = 'invalid_value',
  ) {}
}

/** Validates a field that is present and not `null`; returns `undefined` for an ignored value. */
type FieldReader<Value> = (sent: unknown) => Value | undefined | FieldFault;

/** Validates `podcast_guid` and `sync_id`. */
const guid: FieldReader<string> = (sent) =>
  guidSchema.safeParse(sent).data ?? new FieldFault(' is not a valid UUID', 'invalid_guid');

/** `publish_date` of an episode without a date. No podcast is as old as 1970. */
const unknownDate = '1970-01-01T00:00:00.000Z';

/**
 * Returns a validator of a text that identifies an episode. The validator ignores empty texts.
 *
 * @param faultIn returns the error of a text, without the name of the field.
 */
function createIdentifierReader(
  faultIn: (text: string) => string | undefined,
  code?: EntryFailureCode,
): FieldReader<string> {
  return (sent) => {
    if (typeof sent !== 'string') return new FieldFault(' is not a string');
    const trimmedText = sent.trim();
    const fault = trimmedText === '' ? undefined : faultIn(trimmedText);
    return fault === undefined ? trimmedText || undefined : new FieldFault(fault, code);
  };
}

const episodeGuid = createIdentifierReader((sent) => {
  const fault = faultInText(sent, textLimits.episodeGuid);
  return fault && ` ${fault}`;
});

const enclosureUrl = createIdentifierReader((sent) => {
  const fault = faultInSpacedUrl(sent);
  return fault && `: ${fault}`;
}, 'invalid_url');

// The next four validators ignore invalid values, so that the states of the episode are stored.
const title: FieldReader<string> = (sent) =>
  typeof sent === 'string' ? storedTitle(sent) || undefined : undefined;

const publishDate: FieldReader<string> = (sent) => {
  const time = typeof sent === 'string' ? parseTime(sent) : undefined;
  const date = time && toStamp(time);
  return date === unknownDate ? undefined : date;
};

const episodeUrl: FieldReader<string> = (sent) => {
  const url = typeof sent === 'string' ? sent.trim() : '';
  return faultInSpacedUrl(url) === undefined ? url : undefined;
};

const duration: FieldReader<number> = (sent) =>
  Number.isFinite(sent) && (sent as number) > 0 ? (sent as number) : undefined;

const temporaryId: FieldReader<string | number> = (sent) => {
  if (typeof sent === 'number' && Number.isFinite(sent)) return sent;
  if (typeof sent !== 'string') return new FieldFault(' is neither a string nor a number');
  return Buffer.byteLength(sent) > maxNameBytes
    ? new FieldFault(` is longer than ${maxNameBytes} bytes`)
    : sent;
};

/** Time of a status in an answer. */
const shownTimeSchema = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  .describe('UTC to the minute, `YYYY-MM-DDThh:mm`.');
/** Time of a status in a request. */
const sentTimeSchema = z
  .string()
  .describe("The client's time of the change: RFC 3339, or `YYYY-MM-DDThh:mm` in UTC.");

/**
 * Defines a kind of status: its column type, validator and schemas.
 *
 * @param noun names a valid value in error messages, such as `a boolean`.
 */
function defineStatusKind<Value extends Status['value']>(
  columnType: 'double precision' | 'boolean',
  value: z.ZodType<Value>,
  noun: string,
) {
  const sent: FieldReader<Status> = (status) => {
    if (!isJsonObject(status)) return new FieldFault(' is not an object with value and timestamp');
    const { value: sentValue, timestamp } = status;
    // Ignores a status without a value.
    if (sentValue === undefined || sentValue === null) return undefined;
    const time = typeof timestamp === 'string' ? parseStatusTime(timestamp) : undefined;
    if (!time)
      return new FieldFault(
        ': the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)',
      );
    const { success, data } = value.safeParse(sentValue);
    if (!success) return new FieldFault(`: the value is not ${noun}`);
    // Adds zero, to turn the JSON number -0 into 0.
    return {
      value: typeof data === 'number' ? data + 0 : data,
      at: time.instant,
      minuteForm: time.minuteForm,
    };
  };
  return {
    columnType,
    sent,
    shown: z.object({ value, timestamp: shownTimeSchema }).optional(),
    documented: z.object({ value, timestamp: sentTimeSchema }).optional(),
  };
}

/** Kind of a status in seconds, such as the playback position. */
const secondsKind = defineStatusKind(
  'double precision',
  z.number().min(0).describe('Seconds.'),
  'a number of seconds, 0 or more',
);
/** Kind of a status that is true or false. */
const flagKind = defineStatusKind('boolean', z.boolean(), 'a boolean');

/** Fields of an entry that identify its podcast and its episode. */
const identifiers = {
  podcastGuid: { sent: guid, shown: shownGuid.describe("The subscription's current guid.") },
  syncId: { sent: guid, shown: shownGuid },
};

const urlOrEmptySchema = z.string().describe('A URL, or empty where it is not known.');

/**
 * Fields that describe an episode. All but `duration` also identify the episode in its
 * subscription. `unknown` is the value of the field if no client has sent one.
 */
const metadata = {
  episodeGuid: {
    sent: episodeGuid,
    unknown: '' as string,
    shown: z.string().describe('Empty where it is not known.'),
  },
  title: {
    sent: title,
    unknown: '' as string,
    shown: z.string().describe('Empty where it is not known.'),
  },
  publishDate: {
    sent: publishDate,
    unknown: unknownDate as string,
    shown: shownStamp.describe(`\`${unknownDate}\` where it is not known.`),
  },
  enclosureUrl: { sent: enclosureUrl, unknown: '' as string, shown: urlOrEmptySchema },
  episodeUrl: { sent: episodeUrl, unknown: '' as string, shown: urlOrEmptySchema },
  duration: {
    sent: duration,
    unknown: null as number | null,
    shown: z.number().positive().optional().describe('Seconds, where they are known.'),
  },
};

/** The statuses, in the order of their bits in `minute_forms`. Add a new status at the end. */
export const episodeStatuses = {
  playbackPosition: secondsKind,
  playedStatus: flagKind,
  newStatus: flagKind,
  downloadStatus: flagKind,
  favoriteStatus: flagKind,
};

/** Names of metadata fields in code; {@link wireNames} has their names in HTTP. */
export type MetadataName = keyof typeof metadata;
export type StatusName = keyof typeof episodeStatuses;
type EntryName = keyof typeof identifiers | MetadataName | StatusName | 'temporaryId';

export const metadataNames = Object.keys(metadata) as MetadataName[];
export const statusNames = Object.keys(episodeStatuses) as StatusName[];
const identifierNames = Object.keys(identifiers) as (keyof typeof identifiers)[];
/** Values of missing metadata. When episodes are matched, such a value matches no other value. */
export const unknownMetadata = pluck(metadata, 'unknown');
export const entryNames: readonly EntryName[] = [
  ...identifierNames,
  ...metadataNames,
  ...statusNames,
  'temporaryId',
];

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Names of the fields in HTTP and of their columns, by their names in code. */
export const wireNames = Object.fromEntries(
  entryNames.map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
) as { [Name in EntryName]: SnakeCase<Name> };

/** Returns a property of each field: `pluck(table, 'unknown').title` is `table.title.unknown`. */
function pluck<Table extends object, Part extends keyof Table[keyof Table]>(
  table: Table,
  part: Part,
) {
  const fields = Object.entries(table as Record<string, Table[keyof Table]>);
  return Object.fromEntries(fields.map(([name, field]) => [name, field[part]])) as {
    [Name in keyof Table]: Table[Name][Part];
  };
}

/** Returns the fields of a table, keyed by their names in HTTP instead of those in code. */
function keyByWireName<Table extends object>(table: Table) {
  const fields = Object.entries(table).map(([name, field]) => [
    wireNames[name as EntryName],
    field,
  ]);
  return Object.fromEntries(fields) as {
    [Name in keyof Table & string as SnakeCase<Name>]: Table[Name];
  };
}

/** A valid entry of POST /episodes. It has only the metadata and statuses that were sent. */
export interface EpisodeEntry {
  podcastGuid?: string;
  syncId?: string;
  temporaryId?: string | number;
  metadata: { [Name in MetadataName]?: NonNullable<(typeof unknownMetadata)[Name]> };
  statuses: Partial<Record<StatusName, Status>>;
}

/** The first error that {@link parseEntry} finds in an entry. `field` is the field's HTTP name. */
export interface EntryFault {
  field: string;
  code: EntryFailureCode;
  message: string;
}

/** Returns the validators of these fields as a list, with the names of the fields in HTTP. */
function listReaders(fields: Record<string, FieldReader<unknown>>, part?: 'metadata' | 'statuses') {
  return Object.entries(fields).map(([name, read]) => ({
    part,
    name,
    wireName: wireNames[name as EntryName],
    read,
  }));
}

/** Validators of all fields of an entry, in the order in which errors are reported. */
const entryReaders = [
  ...listReaders({ temporaryId }),
  ...listReaders(pluck(episodeStatuses, 'sent'), 'statuses'),
  ...listReaders(pluck(identifiers, 'sent')),
  ...listReaders(pluck(metadata, 'sent'), 'metadata'),
];

/**
 * Validates and normalises a client's entry, or returns its first error. `null` counts as absent,
 * because many serializers write it. The caller must check which identifiers are required.
 */
export function parseEntry(sent: Readonly<Record<string, unknown>>): EpisodeEntry | EntryFault {
  // Creates all fields first, because V8 is slow to add properties by computed names.
  const entry: EpisodeEntry = {
    podcastGuid: undefined,
    syncId: undefined,
    temporaryId: undefined,
    metadata: {},
    statuses: {},
  };
  for (const { part, name, wireName, read } of entryReaders) {
    const value = sent[wireName];
    if (value === undefined || value === null) continue;
    const result = read(value);
    if (result instanceof FieldFault)
      return { field: wireName, code: result.code, message: `${wireName}${result.words}` };
    const target: object = part ? entry[part] : entry;
    if (result !== undefined) (target as Record<string, unknown>)[name] = result;
  }
  return entry;
}

/** Returns true for an object of parsed JSON that is neither an array nor `null`. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An episode in answers. */
export const episodeSchema = z
  .object(
    keyByWireName({
      ...pluck(identifiers, 'shown'),
      ...pluck(metadata, 'shown'),
      ...pluck(episodeStatuses, 'shown'),
    }),
  )
  .meta({ id: 'Episode' });
export type Episode = z.output<typeof episodeSchema>;

/** Name that a client gave an entry; the result of the entry repeats it. */
const shownTemporaryId = z.union([z.string(), z.number()]).optional();

/** An entry in the OpenAPI document. The server also accepts and ignores invalid metadata. */
export const documentedEntrySchema = episodeSchema
  .partial()
  .required({ podcast_guid: true })
  .extend({
    temporary_id: shownTemporaryId,
    ...keyByWireName(pluck(episodeStatuses, 'documented')),
  })
  .meta({ id: undefined });

/** Fields that the failure of an entry repeats, with their maximum bytes. Omits longer values. */
export const echoLimits = {
  podcast_guid: maxNameBytes,
  sync_id: maxNameBytes,
  episode_guid: textLimits.episodeGuid,
  enclosure_url: textLimits.url,
  temporary_id: maxNameBytes,
} as const;

/** The answer of POST /episodes: one success or failure for each entry. */
export const uploadedSchema = z
  .object({
    success: z.array(
      episodeSchema.extend({ temporary_id: shownTemporaryId }).meta({ id: 'UploadedEpisode' }),
    ),
    failure: z.array(
      z.object({
        podcast_guid: z.string().optional(),
        sync_id: z.string().optional(),
        episode_guid: z.string().optional(),
        enclosure_url: z.string().optional(),
        temporary_id: shownTemporaryId,
        code: entryFailureCode,
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'UploadAnswer' });
export type UploadAnswer = z.output<typeof uploadedSchema>;
