import { Failure } from '#contracts';
import { parsingSlot, TooLarge, waitToParse } from '#http';
import { escaped, OpmlError, OpmlLimitError, readOpml, writeOpml, xmlDeclaration } from '#opml';

/** The formats of the simple API, with their types. */
const types = {
  json: 'application/json; charset=utf-8',
  jsonp: 'application/json-p; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  opml: 'text/xml; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
} as const;
export type Format = keyof typeof types;

/** A body and its type. */
export interface Shown {
  readonly type: string;
  readonly body: string;
}

/** The format with this name. @throws Failure `invalid` */
export function formatOf(name: string, others: readonly Format[] = []): Format {
  if (!Object.hasOwn(types, name) || others.includes(name as Format)) throw new Failure('invalid');
  return name as Format;
}

/** A podcast as the directory of gpodder.net described it; clients demand all of it. */
export function podcastObject(url: string) {
  return {
    url,
    title: url,
    author: '',
    description: '',
    website: '',
    logo_url: '',
    scaled_logo_url: '',
    mygpo_link: '',
    subscribers: 0,
    subscribers_last_week: 0,
  };
}

/**
 * A list of feeds in a format.
 *
 * @param items what JSON has of each feed.
 * @param callback the `jsonp` of the query. @throws Failure `invalid` where it is needed and unusable.
 */
export function showFeeds(format: Format, urls: readonly string[], items: readonly unknown[], callback: string | null) {
  return { type: types[format], body: bodyOf(format, urls, items, callback) } satisfies Shown;
}

function bodyOf(format: Format, urls: readonly string[], items: readonly unknown[], callback: string | null): string {
  switch (format) {
    case 'json':
      return JSON.stringify(items);
    case 'jsonp':
      if (callback === null || !/^\w{1,255}$/.test(callback)) throw new Failure('invalid');
      return `${callback}(${JSON.stringify(items)})`;
    case 'txt':
      return urls.map((url) => `${url}\n`).join('');
    case 'opml':
      return writeOpml(urls);
    case 'xml':
      return `${xmlDeclaration}<podcasts>${urls.map((url) => podcastElement(url)).join('')}</podcasts>\n`;
  }
}

function podcastElement(url: string): string {
  const fields = Object.entries(podcastObject(url)).map(([key, value]) => `<${key}>${escaped(String(value))}</${key}>`);
  return `<podcast>${fields.join('')}</podcast>`;
}

/** The largest number of feeds of an OPML document, and of lines of a text that are not empty. */
const [maxFeeds, maxLines] = [5_000, 30_000];
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The entries of a whole list as a client sends it, those that can't be used among them.
 *
 * @throws Failure `invalid` where it does not parse or is nothing at all: a list is emptied only by an empty list. TooLarge.
 */
export async function readFeeds(
  format: Format,
  body: Buffer | undefined,
  json: (body: Buffer) => unknown,
): Promise<unknown[]> {
  if (body === undefined || body.length === 0) throw new Failure('invalid');
  if (format === 'opml') return feedUrlsOf(body);
  await waitToParse(body);
  if (format === 'json') return entriesOf(json(body));
  if (format === 'txt') return linesOf(textOf(body));
  throw new Failure('invalid');
}

/** The feed URLs of an OPML document. Outlines of which none has a URL are not an empty list. */
async function feedUrlsOf(body: Buffer): Promise<string[]> {
  try {
    const { feeds, skipped } = await readOpml(body, parsingSlot, { maxFeeds });
    if (feeds.length === 0 && skipped > 0) throw new OpmlError('no outline has a feed URL');
    return feeds.map(({ feedUrl }) => feedUrl);
  } catch (cause) {
    if (cause instanceof OpmlLimitError) throw new TooLarge(cause.message);
    throw cause instanceof OpmlError ? new Failure('invalid', { cause }) : cause;
  }
}

/** The lines of a text that are not blank, found one by one: a text of line feeds alone would be millions of them. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  let seen = 0;
  for (const [line] of text.matchAll(/[^\r\n]+/g)) {
    if (++seen > maxLines) throw new TooLarge(`more than ${maxLines} lines`);
    if (line.trim() !== '') lines.push(line);
  }
  return lines;
}

function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new Failure('invalid', { cause });
  }
}

/** The URLs are texts, or those of objects with a `url`; what is neither is no URL. */
function entriesOf(list: unknown): unknown[] {
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null && 'url' in entry ? entry.url : entry,
  );
}
