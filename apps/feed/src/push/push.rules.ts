import {
  type EntryFailureCode,
  faultInHttpUrl,
  faultInSpacedUrl,
  guidSchema,
  isJsonObject,
  type PushAnswer,
  parseEntry,
} from '#contracts';
import { feedLanguage, uniqueItems } from '../document/feed-reader.js';
import { type FeedDocument, type FeedItem, maxEpisodes } from '../document/feed-document.js';
import { descriptionOf, lineOf } from '../document/feed-values.js';
import { isPrivate } from '../feed-address.js';
import { canMove } from '../schedule/move.rules.js';

/** A valid entry of POST /feeds, in the form of a fetched document. */
export interface PushedFeed {
  readonly url: string;
  readonly document: FeedDocument;
  /** URL of a picture on the platform; undefined without a valid URL. */
  readonly artworkUrl: string | undefined;
  /** Present if invalid episodes were left out of the document. Describes the first of them. */
  readonly failure?: PushFailure;
}

type PushFailure = PushAnswer['failure'][number];

/**
 * Validates an entry of POST /feeds (docs/reference/interface-feeds.md, "Pushing"). Invalid texts
 * and links count as absent, as in a fetched document. An invalid episode is left out.
 *
 * @returns the feed to store, or the failure of an entry that is rejected.
 */
export function validatePush(sent: unknown): PushedFeed | PushFailure {
  if (!isJsonObject(sent)) return createFailure('', 'invalid_value', 'An entry must be an object');
  const url = toText(sent.feed_url).trim();
  const reject = (code: EntryFailureCode, message: string) =>
    createFailure(toText(sent.feed_url), code, message);
  const fault = faultInHttpUrl(url);
  if (fault !== undefined) return reject('invalid_url', fault);
  if (isPrivate(url))
    return reject('invalid_url', 'The URL is of a private feed, for one listener');
  const guid = guidSchema.safeParse(sent.guid ?? undefined);
  if (!guid.success && (sent.guid ?? undefined) !== undefined)
    return reject('invalid_guid', 'guid is not a valid UUID');
  const episodes = sent.episodes ?? [];
  if (!Array.isArray(episodes)) return reject('invalid_value', 'episodes is not an array');
  if (episodes.length > maxEpisodes)
    return reject('limit_reached', `More than ${maxEpisodes} episodes: send the newest ones`);
  const parsedEpisodes = episodes.map(toItem);
  const items = parsedEpisodes.flatMap((item) => ('message' in item ? [] : item));
  const failures = parsedEpisodes.flatMap((item, index) =>
    'message' in item ? { ...item, index } : [],
  );
  const { new_feed_url: sentNewUrl } = sent;
  const newFeedUrl = typeof sentNewUrl === 'string' ? sentNewUrl.trim() : (sentNewUrl ?? undefined);
  if (newFeedUrl !== undefined && !canMove(url, newFeedUrl))
    return reject(
      'invalid_url',
      'new_feed_url is not allowed: send a public URL with a host name, and not http after https',
    );
  return {
    url,
    document: { ...toDocument(sent, guid.data, items), newFeedUrl },
    artworkUrl: toUrl(sent.artwork_url),
    ...(failures[0] && {
      failure: reject(
        failures[0].code,
        `episodes[${failures[0].index}]: ${failures[0].message} (${failures.length} left out)`,
      ),
    }),
  };
}

function createFailure(feedUrl: string, code: EntryFailureCode, message: string): PushFailure {
  return { feed_url: feedUrl, code, message };
}

/** Returns the item of a pushed episode, or the reason why the episode is invalid. */
function toItem(sent: unknown): FeedItem | { code: EntryFailureCode; message: string } {
  if (!isJsonObject(sent)) return { code: 'invalid_value', message: 'is not an object' };
  const entry = parseEntry(sent);
  if ('code' in entry) return entry;
  const { episodeGuid, enclosureUrl, publishDate, title, episodeUrl, duration } = entry.metadata;
  if (episodeGuid === undefined && enclosureUrl === undefined)
    return { code: 'missing_identifier', message: 'send episode_guid or enclosure_url' };
  return {
    guid: episodeGuid,
    title,
    publishDate: publishDate === undefined ? undefined : new Date(publishDate),
    enclosureUrl,
    episodeUrl,
    duration,
    imageUrl: toUrl(sent.image_url),
  };
}

function toDocument(
  sent: Readonly<Record<string, unknown>>,
  declaredGuid: string | undefined,
  items: readonly FeedItem[],
): FeedDocument {
  return {
    isWhole: true,
    title: lineOf(toText(sent.title)),
    author: lineOf(toText(sent.author)),
    description: descriptionOf(toText(sent.description)),
    link: toUrl(sent.link),
    language: feedLanguage(toText(sent.language)),
    imageUrl: toUrl(sent.image_url),
    declaredGuid,
    isBlocked: false,
    isComplete: false,
    items: uniqueItems(items),
  };
}

const toText = (sent: unknown): string => (typeof sent === 'string' ? sent : '');

function toUrl(sent: unknown): string | undefined {
  const trimmed = toText(sent).trim();
  return trimmed !== '' && faultInSpacedUrl(trimmed) === undefined ? trimmed : undefined;
}
