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
export function validatePush(sentFeed: unknown): PushedFeed | PushFailure {
  if (!isJsonObject(sentFeed))
    return createFailure('', 'invalid_value', 'An entry must be an object');
  const url = toText(sentFeed.feed_url).trim();
  const reject = (code: EntryFailureCode, message: string) =>
    createFailure(toText(sentFeed.feed_url), code, message);
  const fault = faultInHttpUrl(url);
  if (fault !== undefined) return reject('invalid_url', fault);
  if (isPrivate(url))
    return reject('invalid_url', 'The URL is of a private feed, for one listener');
  const guid = guidSchema.safeParse(sentFeed.guid ?? undefined);
  if (!guid.success && (sentFeed.guid ?? undefined) !== undefined)
    return reject('invalid_guid', 'guid is not a valid UUID');
  const episodes = sentFeed.episodes ?? [];
  if (!Array.isArray(episodes)) return reject('invalid_value', 'episodes is not an array');
  if (episodes.length > maxEpisodes)
    return reject('limit_reached', `More than ${maxEpisodes} episodes: send the newest ones`);
  const parsedEpisodes = episodes.map(toItem);
  const items = parsedEpisodes.flatMap((item) => ('message' in item ? [] : item));
  const failures = parsedEpisodes.flatMap((item, index) =>
    'message' in item ? { ...item, index } : [],
  );
  const { new_feed_url: sentNewUrl } = sentFeed;
  const newFeedUrl = typeof sentNewUrl === 'string' ? sentNewUrl.trim() : (sentNewUrl ?? undefined);
  if (newFeedUrl !== undefined && !canMove(url, newFeedUrl))
    return reject(
      'invalid_url',
      'new_feed_url is not allowed: send a public URL with a host name, and not http after https',
    );
  return {
    url,
    document: { ...toDocument(sentFeed, guid.data, items), newFeedUrl },
    artworkUrl: toUrl(sentFeed.artwork_url),
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
function toItem(sentEpisode: unknown): FeedItem | { code: EntryFailureCode; message: string } {
  if (!isJsonObject(sentEpisode)) return { code: 'invalid_value', message: 'is not an object' };
  const entry = parseEntry(sentEpisode);
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
    imageUrl: toUrl(sentEpisode.image_url),
  };
}

function toDocument(
  sentFeed: Readonly<Record<string, unknown>>,
  declaredGuid: string | undefined,
  items: readonly FeedItem[],
): FeedDocument {
  return {
    isWhole: true,
    title: lineOf(toText(sentFeed.title)),
    author: lineOf(toText(sentFeed.author)),
    description: descriptionOf(toText(sentFeed.description)),
    link: toUrl(sentFeed.link),
    language: feedLanguage(toText(sentFeed.language)),
    imageUrl: toUrl(sentFeed.image_url),
    declaredGuid,
    isBlocked: false,
    isComplete: false,
    items: uniqueItems(items),
  };
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : '');

function toUrl(value: unknown): string | undefined {
  const trimmed = toText(value).trim();
  return trimmed !== '' && faultInSpacedUrl(trimmed) === undefined ? trimmed : undefined;
}
