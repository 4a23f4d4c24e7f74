import { decodeHTMLStrict } from 'entities/decode';
import { type Handler, Parser } from 'htmlparser2';
import { decodeDocument } from './document-text.js';

/** Maximum bytes of a document; 5,000 feeds have some 2,000,000. */
export const maxOpmlBytes = 10_000_000;

/** Maximum nesting depth, and maximum attributes of a document; 5,000 feeds have some 35,000. */
const [maxDepth, maxAttributes] = [100, 100_000];

/** Characters parsed between two pauses (up to 20 ms); also the limit of an attribute's value. */
const sliceLength = 65_536;

/** Names of the attributes of outlines that the reader uses, in lower case. */
const attributeNames = new Set(['xmlurl', 'url', 'type', 'title', 'text', 'subscribed']);

/** A feed of an OPML document. */
export interface OpmlFeed {
  /** URL of the feed: not empty, trimmed, not validated. */
  readonly feedUrl: string;
  /** Title of the feed in the document; can be empty. */
  readonly title: string;
}

/** The feeds of an OPML document. */
export interface Opml {
  /** Feeds in the order of the document, with duplicates. */
  readonly feeds: readonly OpmlFeed[];
  /**
   * Number of entries of the body that are no feed to subscribe to: outlines with neither a feed
   * URL nor child outlines, unsubscribed feeds, other elements, and text.
   */
  readonly skipped: number;
}

/** Thrown for a document that is not OPML or is truncated. */
export class OpmlError extends Error {}

/** Thrown for a document that exceeds a limit. The message names the limit. */
export class OpmlLimitError extends OpmlError {}

/** Limits of {@link readOpml} that the caller sets. */
export interface OpmlLimits {
  /** Maximum feeds of a document. Default: no limit. */
  readonly maxFeeds?: number;
}

/**
 * Returns the feeds of an OPML document (opml.org/spec2.opml) as podcast apps write it: element and
 * attribute names in any letter case, bare ampersands, HTML entities, any encoding ({@link
 * decodeDocument}), folders. The feed URL is `xmlUrl`. In a document without any `xmlUrl` it is the
 * `url` of outlines of type `rss` or without a type. The run time is linear in the bytes.
 *
 * @param pause called between the slices of a large document; parsing continues when it resolves.
 * @throws OpmlError, OpmlLimitError and nothing else.
 */
export async function readOpml(
  document: Uint8Array,
  pause: () => Promise<void>,
  { maxFeeds = Infinity }: OpmlLimits = {},
): Promise<Opml> {
  if (document.length > maxOpmlBytes) throw new OpmlLimitError(`more than ${maxOpmlBytes} bytes`);
  if (document.length > sliceLength) await pause();
  const text = decodeDocument(document);
  const reader = new OutlineReader(maxFeeds);
  const parser = new Parser(reader, {
    xmlMode: true,
    decodeEntities: false,
    lowerCaseTags: true,
    lowerCaseAttributeNames: true,
  });
  for (let start = 0; start < text.length; start += sliceLength) {
    if (start > 0) await pause();
    parser.write(text.slice(start, start + sliceLength));
  }
  return reader.end();
}

/** An element whose end tag has not been parsed. */
interface OpenElement {
  readonly name: string;
  /** Offset of the start tag in the document. */
  readonly start: number;
  /** True if the element is a feed, has child elements, or is already counted as skipped. */
  isCounted: boolean;
  /** True if the element has a `url`, which is its feed URL if no outline has an `xmlUrl`. */
  hasOnlyUrl: boolean;
}

/** Collects feeds from the events of the XML parser, which calls its `on…` methods. */
class OutlineReader implements Partial<Handler> {
  private readonly feeds: OpmlFeed[] = [];
  /** Feeds whose URL is in the attribute `url`; the result if no outline has an `xmlUrl`. */
  private readonly feedsWithUrlOnly: OpmlFeed[] = [];
  private skipped = 0;
  /** Number of outlines with only a `url`, which are skipped if any outline has an `xmlUrl`. */
  private skippedWithUrlOnly = 0;
  private hasText = false;
  private attributeCount = 0;
  private hasRoot = false;
  private hasBody = false;
  private readonly openElements: OpenElement[] = [];
  private readonly attributes = new Map<string, string>();
  private parser!: Parser;

  constructor(private readonly maxFeeds: number) {}

  onparserinit(parser: Parser): void {
    this.parser = parser;
  }

  onopentagname(name: string): void {
    this.endStartTag();
    const parent = this.openElements.at(-1);
    if (!parent && (name !== 'opml' || this.hasRoot))
      throw new OpmlError('the document must have one root element, opml');
    if (this.openElements.length === maxDepth)
      throw new OpmlLimitError(`more than ${maxDepth} nested elements`);
    if (name === 'outline' && !this.isInBody) throw new OpmlError('an outline is not in the body');
    if (parent) parent.isCounted = true;
    this.hasRoot = true;
    this.hasBody ||= name === 'body' && this.openElements.length === 1;
    this.openElements.push({
      name,
      start: this.parser.startIndex,
      isCounted: false,
      hasOnlyUrl: false,
    });
  }

  onattribute(name: string, value: string): void {
    if (++this.attributeCount > maxAttributes)
      throw new OpmlLimitError(`more than ${maxAttributes} attributes`);
    if (this.openElements.at(-1)?.name !== 'outline') return;
    if (!attributeNames.has(name) || this.attributes.has(name)) return;
    if (value.length > sliceLength)
      throw new OpmlLimitError(`a value of more than ${sliceLength} characters`);
    this.attributes.set(name, value);
  }

  onclosetag(_name: string, isImplied: boolean): void {
    this.endStartTag();
    const element = this.openElements.pop();
    // The parser also calls this for <a/>, at the offset of its start, and for missing end tags.
    if (isImplied && element?.start !== this.parser.startIndex)
      throw new OpmlError('an element does not end');
    if (!element || element.isCounted || this.openElements[1]?.name !== 'body') return;
    if (element.hasOnlyUrl) this.skippedWithUrlOnly += 1;
    else this.skipped += 1;
  }

  ontext(text: string): void {
    if (!/\S/.test(text)) return;
    if (this.openElements.length === 0) throw new OpmlError('there is text outside of the root');
    this.hasText ||= this.isInBody;
  }

  onprocessinginstruction(name: string): void {
    if (name.startsWith('!')) throw new OpmlError('a document type (DOCTYPE) is not allowed');
  }

  /** Ends the document. @throws OpmlError if the document is truncated or has no body. */
  end(): Opml {
    if (!this.hasRoot) throw new OpmlError('there is no opml element');
    if (this.openElements.length > 0) throw new OpmlError('the document is cut off');
    if (!this.hasBody) throw new OpmlError('there is no body');
    const skipped = this.skipped + Number(this.hasText);
    if (this.feeds.length === 0) return { feeds: this.feedsWithUrlOnly, skipped };
    return { feeds: this.feeds, skipped: skipped + this.skippedWithUrlOnly };
  }

  private get isInBody(): boolean {
    return this.openElements[1]?.name === 'body';
  }

  /** Adds the feed of the last start tag. Called at the next event, after all attributes. */
  private endStartTag(): void {
    const element = this.openElements.at(-1);
    if (this.attributes.size === 0 || !element) return;
    const readAttribute = (name: string) =>
      decodeHTMLStrict(this.attributes.get(name) ?? '').trim();
    const isFeedType = ['', 'rss'].includes(readAttribute('type').toLowerCase());
    const [xmlUrl, url] = [readAttribute('xmlurl'), isFeedType ? readAttribute('url') : ''];
    if ((xmlUrl || url) && ['0', 'false'].includes(readAttribute('subscribed').toLowerCase())) {
      element.isCounted = true;
      this.skipped += 1;
    } else if (xmlUrl || url) {
      element.isCounted = xmlUrl !== '';
      element.hasOnlyUrl = xmlUrl === '';
      const feeds = xmlUrl ? this.feeds : this.feedsWithUrlOnly;
      feeds.push({
        feedUrl: xmlUrl || url,
        title: readAttribute('title') || readAttribute('text'),
      });
      if (feeds.length > this.maxFeeds)
        throw new OpmlLimitError(`more than ${this.maxFeeds} feeds`);
    }
    this.attributes.clear();
  }
}
