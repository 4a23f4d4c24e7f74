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
  /** A picture that the platform serves. */
  readonly artworkUrl: string | undefined;
  /** Present if invalid episodes were left out of the document. Describes the first of them. */
  readonly failure?: PushFailure;
}

type PushFailure = PushAnswer['failure'][number];

/**
 * Validates an entry of POST /feeds (docs/reference/interface-feeds.md, "Pushing"). Invalid texts
 * and links count as absent, as in a fetched document. An invalid episode is left out.
 */
export function validatePush(sent: unknown): PushedFeed | PushFailure {
  if (!isJsonObject(sent)) return pushFailure('', 'invalid_value', 'An entry must be an object');
  const url = textOf(sent.feed_url).trim();
  const reject = (code: EntryFailureCode, message: string) =>
    pushFailure(textOf(sent.feed_url), code, message);
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
  const read = episodes.map(toItem);
  const items = read.flatMap((item) => ('message' in item ? [] : item));
  const invalid = read.flatMap((item, index) => ('message' in item ? { ...item, index } : []));
  const { new_feed_url: moved } = sent;
  const newFeedUrl = typeof moved === 'string' ? moved.trim() : (moved ?? undefined);
  if (newFeedUrl !== undefined && !canMove(url, newFeedUrl))
    return reject(
      'invalid_url',
      'new_feed_url is not allowed: send a public URL with a host name, and not http after https',
    );
  return {
    url,
    document: { ...toDocument(sent, guid.data, items), newFeedUrl },
    artworkUrl: urlOf(sent.artwork_url),
    ...(invalid[0] && {
      failure: reject(
        invalid[0].code,
        `episodes[${invalid[0].index}]: ${invalid[0].message} (${invalid.length} left out)`,
      ),
    }),
  };
}

function pushFailure(feedUrl: string, code: EntryFailureCode, message: string): PushFailure {
  return { feed_url: feedUrl, code, message };
}

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
    imageUrl: urlOf(sent.image_url),
  };
}

function toDocument(
  sent: Readonly<Record<string, unknown>>,
  declaredGuid: string | undefined,
  items: readonly FeedItem[],
): FeedDocument {
  return {
    isWhole: true,
    title: lineOf(textOf(sent.title)),
    author: lineOf(textOf(sent.author)),
    description: descriptionOf(textOf(sent.description)),
    link: urlOf(sent.link),
    language: feedLanguage(textOf(sent.language)),
    imageUrl: urlOf(sent.image_url),
    declaredGuid,
    isBlocked: false,
    isComplete: false,
    items: uniqueItems(items),
  };
}

const textOf = (sent: unknown): string => (typeof sent === 'string' ? sent : '');

function urlOf(sent: unknown): string | undefined {
  const text = textOf(sent).trim();
  return text !== '' && faultInSpacedUrl(text) === undefined ? text : undefined;
}
