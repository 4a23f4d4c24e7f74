import {
  dataEndSchema,
  type DataEnd,
  dataFormat,
  dataSubscriptionSchema,
  type DataUser,
  dataUserSchema,
  entryNames,
  mostNames,
  type RequestOf,
  type loadEpisodes,
  type SubscriptionLoadEntry,
  wireNames,
} from '#contracts';

export type EpisodeLoadEntry = RequestOf<typeof loadEpisodes>['entries'][number];

/** What a line says, or why it can't be used. */
export type Said =
  | { kind: 'format' }
  | { kind: 'user'; user: DataUser | undefined }
  | { kind: 'subscription'; entry: SubscriptionLoadEntry }
  | { kind: 'episode'; entry: EpisodeLoadEntry }
  | { kind: 'end'; end: DataEnd | undefined }
  | { kind: 'complete' }
  | { kind: 'unusable'; message: string };

/** The file is of another form. */
export class FormatError extends Error {}

const unusable = (message: string): Said => ({ kind: 'unusable', message });

/** Reads a line (docs/data.md, "The form"). What is wrong with a field of an episode the service says. @throws FormatError */
export function readLine(text: string): Said {
  let line: Record<string, unknown>;
  try {
    line = JSON.parse(text) as typeof line;
  } catch {
    return unusable('The line is no JSON');
  }
  if (typeof line !== 'object' || line === null) return unusable('The line is no JSON object');
  if (isObject(line.episode)) return episode(line.episode);
  if (isObject(line.subscription)) return subscription(line.subscription);
  if (isObject(line.user)) return { kind: 'user', user: dataUserSchema.safeParse(line.user).data };
  if (isObject(line.end)) return { kind: 'end', end: dataEndSchema.safeParse(line.end).data };
  if (isObject(line.complete)) return { kind: 'complete' };
  if (isObject(line.podcast_sync)) return format(line.podcast_sync.format);
  return unusable('The line has none of the keys user, subscription, episode and end with an object');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function format(number: unknown): Said {
  if (number === dataFormat) return { kind: 'format' };
  throw new FormatError(`the file is of format ${JSON.stringify(number)}; this build reads ${dataFormat}`);
}

const fields = entryNames.filter((name) => name !== 'temporaryId').map((name) => wireNames[name]);

function episode(sent: Record<string, unknown>): Said {
  const entry: Record<string, unknown> = Object.fromEntries(fields.map((name) => [name, sent[name]]));
  const further = sent.further_sync_ids ?? undefined;
  if (further !== undefined) {
    if (!Array.isArray(further) || further.length > mostNames || !further.every((syncId) => isGuid(syncId)))
      return unusable(`further_sync_ids are not up to ${mostNames} UUIDs`);
    entry.further_sync_ids = further;
  }
  return { kind: 'episode', entry };
}

const guidForm = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
function isGuid(value: unknown): boolean {
  return typeof value === 'string' && guidForm.test(value);
}

function subscription(sent: Record<string, unknown>): Said {
  const { data, error } = dataSubscriptionSchema.safeParse(withoutNull(sent));
  if (!data) {
    const { path, message } = error.issues[0] as (typeof error.issues)[number];
    return unusable(`${path.join('.')}: ${message}`);
  }
  const { named_by: named, ...said } = data;
  return {
    kind: 'subscription',
    entry: {
      feedUrl: said.feed_url,
      guid: said.guid,
      isSubscribed: said.is_subscribed,
      timestamp: said.timestamp,
      deleted: said.deleted,
      mergedInto: said.merged_into,
      guidChanged: said.guid_changed,
      formerGuids: said.former_guids,
      namedBy: named && { guids: named.guids, feedUrls: named.feed_urls, feedUrlHashes: named.feed_url_hashes },
    },
  };
}

/** `null` counts as not there, and so does `deleted` where it is false. */
function withoutNull(sent: Record<string, unknown>): Record<string, unknown> {
  const isThere = ([name, value]: [string, unknown]) => value !== null && !(name === 'deleted' && value === false);
  return Object.fromEntries(Object.entries(sent).filter(isThere));
}
