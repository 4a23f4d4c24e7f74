import { isAscii } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { Parser } from 'htmlparser2';
import { faultInHttpUrl, faultInSpacedUrl, faultInText, guidSchema, textLimits } from '#contracts';
import { declaredEncoding, markedEncoding, supportedEncoding } from '#opml';
import { type FeedDocument, type FeedItem, maxEpisodes } from './feed-document.js';
import { FeedExtractor, type Texts, UnreadableError } from './feed-extractor.js';
import { FeedTokenizer } from './feed-tokenizer.js';
import { dateOf, descriptionOf, parseDuration, lineOf } from './feed-values.js';

/** Number of bytes from which the encoding is detected, and maximum bytes parsed in one piece. */
const pieceBytes = 65_536;
/** Maximum characters between two parser events, such as in an attribute. Reading ends above it. */
const maxEventGap = 262_144;

const charsetParameter = /charset\s{0,5}=\s{0,5}["']?([\w.:-]{1,40})/i;

/**
 * Reads a feed (RSS 0.9x, 1.0 and 2.0, Atom) from chunks of bytes as they arrive. It accepts what
 * podcast apps accept: any encoding, bare ampersands, unknown entities, missing end tags, missing
 * declarations of namespaces. From a broken document it returns the part that it could read.
 *
 * Time is linear in the bytes. Memory holds the texts of the feed and of up to 200 items. The
 * reader ignores DTDs and resolves only the entities of XML.
 */
export class FeedReader {
  private readonly extractor = new FeedExtractor((texts) => this.addItem(texts));
  private readonly parser = new Parser(this.extractor, {
    xmlMode: true,
    lowerCaseTags: true,
    Tokenizer: FeedTokenizer,
  });
  /** The beginning of the document, until it is long enough to detect the encoding. */
  private startChunks: Uint8Array[] = [];
  private startBytes = 0;
  private decoder: PieceDecoder | undefined;
  private items: FeedItem[] = [];
  /** The time of the oldest kept item; undefined until {@link maxEpisodes} items are kept. */
  private oldestTime: number | undefined;
  private isDone = false;

  /** @param contentType the `Content-Type` of the response. */
  constructor(private readonly contentType = '') {}

  /** Reads a chunk of the document. Returns false if the rest of the document is not needed. */
  write(chunk: Uint8Array): boolean {
    if (this.decoder) this.parseBytes(chunk);
    else {
      this.startChunks.push(chunk);
      this.startBytes += chunk.length;
      if (this.startBytes >= pieceBytes) this.startDecoding();
    }
    return !this.isDone;
  }

  /**
   * Returns the feed, or `undefined` if the document is not a feed.
   *
   * @param isComplete false if the input broke off. `isWhole` is then false.
   */
  end(isComplete = true): FeedDocument | undefined {
    if (!this.decoder) this.startDecoding();
    this.parseSafely(() => {
      this.parser.write(this.decoder?.end() ?? '');
      this.extractor.isCut = true;
      this.parser.end();
    });
    const { isFeed, isWhole, texts } = this.extractor;
    const items = selectNewestItems(this.items);
    return isFeed ? toDocument(texts, items, isWhole && isComplete) : undefined;
  }

  /**
   * Keeps an item, unless {@link maxEpisodes} newer items are kept already. Most feeds begin with
   * the newest item, so most later items are dropped here. Sorting takes place only once per
   * {@link maxEpisodes} items.
   */
  private addItem(texts: Texts): void {
    const publishDate = dateOf(texts.get('date') ?? '');
    if (this.oldestTime !== undefined && toTime({ publishDate }) <= this.oldestTime) return;
    this.items.push(toItem(texts, publishDate));
    if (this.items.length < 2 * maxEpisodes) return;
    this.items = selectNewestItems(this.items);
    if (this.items.length === maxEpisodes) this.oldestTime = Math.min(...this.items.map(toTime));
  }

  private startDecoding(): void {
    const start = Buffer.concat(this.startChunks);
    this.startChunks = [];
    this.decoder = createDecoder(
      detectEncoding(start, charsetParameter.exec(this.contentType)?.[1]),
    );
    this.parseBytes(start);
  }

  private parseBytes(bytes: Uint8Array): void {
    for (let offset = 0; offset < bytes.length && !this.isDone; offset += pieceBytes)
      this.parseSafely(() => {
        const piece = bytes.subarray(offset, offset + pieceBytes);
        const text = this.decoder?.write(piece) ?? '';
        this.extractor.charactersSinceEvent += text.length;
        this.parser.write(text);
        if (this.extractor.charactersSinceEvent > maxEventGap)
          throw new UnreadableError('no parser event');
        // A document without a root element in its first 64 KiB is no feed, but JSON for example.
        if (!this.extractor.isFeed && offset > 0) throw new UnreadableError('no root');
      });
    if (this.extractor.isWhole) this.isDone = true;
  }

  /** Runs a step of the parser. If the step throws UnreadableError, the reader ends. */
  private parseSafely(runStep: () => void): void {
    if (this.isDone) return;
    try {
      runStep();
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      this.isDone = true;
    }
  }
}

/** Decodes a text in pieces that can end within a character. */
interface PieceDecoder {
  write(piece: Uint8Array): string;
  end(): string;
}

/**
 * Returns a decoder for an encoding. StringDecoder decodes UTF-8, because TextDecoder takes longer
 * for pieces, and strings of TextDecoder use two bytes for each character even if one is enough.
 */
function createDecoder(encoding: string): PieceDecoder {
  // StringDecoder keeps a byte order mark, which the parser ignores as text before the root.
  if (encoding === 'utf-8') return new StringDecoder('utf8');
  const decoder = new TextDecoder(encoding);
  return { write: (piece) => decoder.decode(piece, { stream: true }), end: () => decoder.decode() };
}

/**
 * Returns the encoding of a feed, from the first of these sources that gives one: the byte order
 * mark, valid UTF-8 that is not only ASCII, the HTTP charset, the XML declaration. Otherwise ASCII
 * counts as UTF-8, and other bytes as windows-1252. Valid UTF-8 precedes declarations, because
 * servers and programs often declare a wrong encoding.
 */
function detectEncoding(start: Uint8Array, httpCharset: string | undefined): string {
  const bomEncoding = markedEncoding(start);
  if (bomEncoding !== undefined) return bomEncoding;
  const isOnlyAscii = isAscii(start);
  if (!isOnlyAscii && isUtf8(start)) return 'utf-8';
  const declaredName = supportedEncoding(httpCharset) ?? declaredEncoding(start);
  return declaredName ?? (isOnlyAscii ? 'utf-8' : 'windows-1252');
}

/** Returns true if bytes are valid UTF-8. The last character can be incomplete. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function toDocument(texts: Texts, items: readonly FeedItem[], isWhole: boolean): FeedDocument {
  const readText = (name: Parameters<Texts['get']>[0]) => texts.get(name) ?? '';
  const isYes = (name: 'block' | 'complete') => /^(?:yes|true)$/i.test(readText(name));
  const ttl = Number(readText('ttl'));
  return {
    isWhole,
    title: lineOf(readText('title')),
    author: lineOf(readText('author')),
    description: descriptionOf(readText('description')),
    link: toUrl(readText('link')),
    language: feedLanguage(readText('language')),
    imageUrl: toUrl(readText('image')),
    declaredGuid: guidSchema.safeParse(readText('guid')).data,
    newFeedUrl:
      faultInHttpUrl(readText('newFeedUrl')) === undefined ? readText('newFeedUrl') : undefined,
    isBlocked: isYes('block'),
    isComplete: isYes('complete'),
    ttl: ttl > 0 && Number.isFinite(ttl) ? ttl : undefined,
    items,
  };
}

/**
 * Returns the first item of each guid. Items without a guid are compared by enclosure URL, and
 * omitted without both.
 */
export function uniqueItems(items: readonly FeedItem[]): FeedItem[] {
  const unique = new Map<string, FeedItem>();
  for (const item of items) {
    const key = item.guid === undefined ? ` ${item.enclosureUrl ?? ''}` : item.guid;
    if (key !== ' ' && !unique.has(key)) unique.set(key, item);
  }
  return [...unique.values()];
}

/**
 * Returns the newest {@link maxEpisodes} unique items in the order of `items`. Items without a date
 * are the oldest.
 */
function selectNewestItems(items: readonly FeedItem[]): FeedItem[] {
  const unique = uniqueItems(items);
  const byDate = unique.toSorted((one, other) => toTime(other) - toTime(one) || 0);
  const newest = new Set(byDate.slice(0, maxEpisodes));
  return unique.filter((item) => newest.has(item));
}

/** Returns the date of an item in milliseconds since 1970; -Infinity without a date. */
function toTime({ publishDate }: { readonly publishDate?: Date | undefined }): number {
  return publishDate?.getTime() ?? -Infinity;
}

function toItem(texts: Texts, publishDate: Date | undefined): FeedItem {
  const guid = texts.get('guid');
  return {
    guid:
      guid !== undefined && faultInText(guid, textLimits.episodeGuid) === undefined
        ? guid
        : undefined,
    title: lineOf(texts.get('title') ?? ''),
    publishDate,
    enclosureUrl: toUrl(texts.get('enclosure') ?? ''),
    episodeUrl: toUrl(texts.get('link') ?? ''),
    imageUrl: toUrl(texts.get('image') ?? ''),
    duration: parseDuration(texts.get('duration') ?? ''),
  };
}

/** Returns a text that is a valid URL, else `undefined`. */
function toUrl(text: string): string | undefined {
  return faultInSpacedUrl(text) === undefined ? text : undefined;
}

/** Returns a language tag (RFC 5646), such as `de` or `en-us`; `undefined` for another text. */
export function feedLanguage(text: string): string | undefined {
  return /^[a-z]{2,3}(?:[-_][a-z\d]{2,8}){0,3}$/i.test(text)
    ? text.replaceAll('_', '-')
    : undefined;
}
