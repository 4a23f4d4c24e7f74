import {
  dataEndSchema,
  type DataEnd,
  dataFormat,
  dataSubscriptionSchema,
  type DataUser,
  dataUserSchema,
  entryNames,
  isJsonObject,
  parseTime,
  wireNames,
} from '#contracts';
import { parseJson } from '#runtime';

/** An entry of POST /subscriptions, with the additional value of `is_subscribed`. */
export interface LoadedSubscription {
  readonly feed_url: string;
  readonly guid?: string | undefined;
  readonly timestamp?: string | undefined;
  readonly title?: string | undefined;
  readonly isSubscribed: boolean;
}

/** An unvalidated entry of POST /episodes. */
export type LoadedEpisode = Record<string, unknown>;

/** A parsed line, or the reason why it is invalid. */
export type ParsedLine =
  | { kind: 'format' }
  | { kind: 'user'; user: DataUser | undefined }
  | { kind: 'subscription'; entry: LoadedSubscription }
  | { kind: 'episode'; entry: LoadedEpisode }
  | { kind: 'end'; end: DataEnd | undefined }
  | { kind: 'complete' }
  | { kind: 'unusable'; message: string };

/** The file has an unsupported format. */
export class FormatError extends Error {}

const toUnusableLine = (message: string): ParsedLine => ({ kind: 'unusable', message });

/**
 * Parses a line (docs/reference/data.md, "The format"). The service validates the fields of
 * episodes.
 *
 * @throws FormatError
 */
export function readLine(text: string): ParsedLine {
  const line = parseJson(text);
  if (line === undefined) return toUnusableLine('The line is not JSON');
  if (!isJsonObject(line)) return toUnusableLine('The line is not a JSON object');
  if (isJsonObject(line.episode)) return parseEpisode(line.episode);
  if (isJsonObject(line.subscription)) return parseSubscription(line.subscription);
  if (isJsonObject(line.user))
    return { kind: 'user', user: dataUserSchema.safeParse(line.user).data };
  if (isJsonObject(line.end)) return { kind: 'end', end: dataEndSchema.safeParse(line.end).data };
  if (isJsonObject(line.complete)) return { kind: 'complete' };
  if (isJsonObject(line.podcast_sync)) return parseFormat(line.podcast_sync.format);
  return toUnusableLine(
    'The line has none of the keys user, subscription, episode and end with an object',
  );
}

function parseFormat(format: unknown): ParsedLine {
  if (format === dataFormat) return { kind: 'format' };
  throw new FormatError(
    `the file has format ${JSON.stringify(format)}; this release reads format ${dataFormat}`,
  );
}

const episodeFields = entryNames
  .filter((name) => name !== 'temporaryId')
  .map((name) => wireNames[name]);

function parseEpisode(content: Record<string, unknown>): ParsedLine {
  const entry = Object.fromEntries(
    episodeFields.flatMap((name) => (name in content ? [[name, content[name]]] : [])),
  );
  return { kind: 'episode', entry };
}

function parseSubscription(content: Record<string, unknown>): ParsedLine {
  // As in the HTTP API, a field with `null` counts as absent.
  const presentFields = Object.fromEntries(
    Object.entries(content).filter(([, value]) => value !== null),
  );
  const { data, error } = dataSubscriptionSchema.safeParse(presentFields);
  if (!data) {
    const { path, message } = error.issues[0] as (typeof error.issues)[number];
    return toUnusableLine(`${path.join('.')}: ${message}`);
  }
  const { feed_url, guid, is_subscribed = true, timestamp, title } = data;
  if (timestamp !== undefined && !parseTime(timestamp))
    return toUnusableLine('timestamp: not a date and time (RFC 3339)');
  return {
    kind: 'subscription',
    entry: { feed_url: feed_url.trim(), guid, isSubscribed: is_subscribed, timestamp, title },
  };
}
