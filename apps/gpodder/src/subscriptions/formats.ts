import { Failure, type Podcast } from '#contracts';
import { TooLarge, waitToParse } from '#http';
import { escapeXml, OpmlError, OpmlLimitError, readOpml, writeOpml, xmlDeclaration } from '#opml';
import { parsingSlot } from '#runtime';
import { maxValuesOf, parseJsonBody } from '../http/input.js';

/** Content types of the simple API by format. */
const contentTypes = {
  json: 'application/json; charset=utf-8',
  jsonp: 'application/json-p; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  opml: 'text/xml; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
} as const;
/** Format of a list of feeds in the simple API. */
export type Format = keyof typeof contentTypes;

/** A subscribed feed, with the listener's title if there is one. */
export interface ListedFeed {
  readonly url: string;
  readonly title?: string | undefined;
}

/**
 * Checks the format in a path.
 *
 * @param except formats that the route does not support.
 * @throws Failure `invalid` for an unknown or unsupported format.
 */
export function parseFormat(name: string, { except = [] }: { except?: readonly Format[] } = {}) {
  if (!Object.hasOwn(contentTypes, name) || except.includes(name as Format))
    throw new Failure('invalid');
  return name as Format;
}

/** Podcasts as their publishers describe them, by feed URL. */
export type PodcastsByUrl = ReadonlyMap<string, Podcast>;

/** Returns a podcast in the JSON format of gpodder.net. Clients require all fields. */
export function toPodcastObject({ url, title }: ListedFeed, podcastsByUrl: PodcastsByUrl) {
  const podcast = podcastsByUrl.get(url);
  const { author, description, link, image_url: image, artwork } = podcast ?? {};
  return {
    url,
    title: title ?? podcast?.title ?? url,
    author: author ?? '',
    description: description ?? '',
    website: link ?? '',
    logo_url: image ?? '',
    scaled_logo_url: artwork ?? image ?? '',
    mygpo_link: '',
    subscribers: 0,
    subscribers_last_week: 0,
  };
}

/**
 * Returns the body of a list of feeds and its content type.
 *
 * @param items the values of json and jsonp, one for each feed.
 * @param podcastsByUrl descriptions by publishers: opml has their titles, xml all their fields.
 * @param callback name of the JavaScript function, for jsonp.
 * @throws Failure `invalid` for `jsonp` without a valid callback.
 */
export function serializeFeeds(
  format: Format,
  feeds: readonly ListedFeed[],
  items: readonly unknown[],
  callback: string | null,
  podcastsByUrl: PodcastsByUrl = new Map(),
): { type: string; body: string } {
  return {
    type: contentTypes[format],
    body: toBody(format, feeds, items, callback, podcastsByUrl),
  };
}

function toBody(
  format: Format,
  feeds: readonly ListedFeed[],
  items: readonly unknown[],
  callback: string | null,
  podcastsByUrl: PodcastsByUrl,
): string {
  switch (format) {
    case 'json':
      return JSON.stringify(items);
    case 'jsonp':
      if (callback === null || !/^\w{1,255}$/.test(callback)) throw new Failure('invalid');
      return `${callback}(${JSON.stringify(items)})`;
    case 'txt':
      return feeds.map(({ url }) => `${url}\n`).join('');
    case 'opml':
      return writeOpml(
        feeds.map(({ url }) => url),
        feeds.map(({ url, title }) => title ?? podcastsByUrl.get(url)?.title),
      );
    case 'xml': {
      const elements = feeds.map((feed) => toXmlElement(feed, podcastsByUrl));
      return `${xmlDeclaration}<podcasts>${elements.join('')}</podcasts>\n`;
    }
  }
}

function toXmlElement(feed: ListedFeed, podcastsByUrl: PodcastsByUrl): string {
  const fields = Object.entries(toPodcastObject(feed, podcastsByUrl)).map(
    ([key, value]) => `<${key}>${escapeXml(String(value))}</${key}>`,
  );
  return `<podcast>${fields.join('')}</podcast>`;
}

/** Maximum feeds of OPML, and maximum lines of a text. Longer bodies are rejected: TooLarge. */
const [maxFeeds, maxLines] = [5_000, 30_000];
const utf8Decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a whole list into URLs, or objects with `url` and `title`, all without validation. An
 * empty body is invalid, because only an explicit empty list is allowed to remove all feeds.
 *
 * @param maxEntries maximum entries of a JSON list.
 * @throws Failure `invalid` for a missing or invalid body; TooLarge.
 */
export async function parseFeedList(
  format: Format,
  body: Buffer | undefined,
  maxEntries: number,
): Promise<unknown[]> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  if (format === 'opml') return parseOpml(body);
  if (format === 'json') return requireArray(await parseJsonBody(body, maxValuesOf(maxEntries)));
  if (format !== 'txt') throw new Failure('invalid');
  await waitToParse(body);
  return splitLines(decodeUtf8(body));
}

/** Parses the feeds of OPML. @throws Failure `invalid` if outlines exist but none has a URL. */
async function parseOpml(body: Buffer): Promise<object[]> {
  try {
    const { feeds, skipped } = await readOpml(body, parsingSlot, { maxFeeds });
    if (feeds.length === 0 && skipped > 0) throw new OpmlError('no outline has a feed URL');
    return feeds.map(({ feedUrl, title }) => ({ url: feedUrl, title }));
  } catch (cause) {
    if (cause instanceof OpmlLimitError) throw new TooLarge(cause.message);
    throw cause instanceof OpmlError ? new Failure('invalid', { cause }) : cause;
  }
}

/** Returns the lines that are not blank. @throws TooLarge at the first line above the limit. */
function splitLines(text: string): string[] {
  const lines: string[] = [];
  let lineCount = 0;
  for (const [line] of text.matchAll(/[^\r\n]+/g)) {
    if (++lineCount > maxLines) throw new TooLarge(`more than ${maxLines} lines`);
    if (line.trim() !== '') lines.push(line);
  }
  return lines;
}

function decodeUtf8(body: Buffer): string {
  try {
    return utf8Decoder.decode(body);
  } catch (cause) {
    throw new Failure('invalid', { cause });
  }
}

function requireArray(list: unknown): unknown[] {
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list;
}
