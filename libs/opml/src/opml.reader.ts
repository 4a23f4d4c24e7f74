import { decodeHTMLStrict } from 'entities/decode';
import { type Handler, Parser } from 'htmlparser2';
import { decodeXml } from './document.text.js';

/** Maximum size of a document in bytes. A document with 5,000 feeds has about 2,000,000. */
export const maxOpmlBytes = 10_000_000;

/** Maximum nested elements, and attributes of a document; 5,000 feeds have about 35,000 of them. */
const [maxDepth, maxAttributes] = [100, 100_000];

/** Characters parsed between two pauses (up to 20 ms), and maximum length of an attribute. */
const sliceLength = 65_536;

/** Attributes of outlines that are read, in lower case. */
const attributeNames = new Set(['xmlurl', 'url', 'type', 'title', 'text', 'subscribed']);

/** A feed of a document. */
export interface OpmlFeed {
  /** The URL as in the document: trimmed and not empty, but not validated. */
  readonly feedUrl: string;
  /** The name of the feed in the document. Can be empty. */
  readonly title: string;
}

/** The feeds of a document. */
export interface Opml {
  /** The feeds in the order of the document. Duplicates are kept. */
  readonly feeds: readonly OpmlFeed[];
  /**
   * The number of entries of the body that name no feed to subscribe to: outlines with neither a
   * feed URL nor child outlines, unsubscribed feeds, other elements, and text.
   */
  readonly skipped: number;
}

/** Thrown for a document that is not OPML or is truncated, as its message says. */
export class OpmlError extends Error {}

/** Thrown for a document that exceeds a limit, which the message names. */
export class OpmlLimitError extends OpmlError {}

/** Limits that the caller sets. */
export interface OpmlLimits {
  /** Maximum number of feeds. Default: no limit. */
  readonly maxFeeds?: number;
}

/**
 * Returns the feeds of an OPML document (opml.org/spec2.opml) as podcast apps write it: element and
 * attribute names in any letter case, bare ampersands, HTML entities, any encoding ({@link
 * decodeXml}), folders. The feed URL is `xmlUrl`. In a document without any `xmlUrl`, it is the
 * `url` of outlines of type `rss` or without a type. The time is linear in the bytes.
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
  const text = decodeXml(document);
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

interface OpenElement {
  readonly name: string;
  readonly start: number;
  /** True if it has a feed, was counted as skipped, or has child elements. */
  isCounted: boolean;
  /** True if it has a `url` that can replace a feed URL. */
  hasStandIn: boolean;
}

class OutlineReader implements Partial<Handler> {
  private readonly feeds: OpmlFeed[] = [];
  /** Feeds by the attribute `url`, used only if no outline has an `xmlUrl`. */
  private readonly standIns: OpmlFeed[] = [];
  private skipped = 0;
  /** Outlines that count as skipped unless the stand-ins are used. */
  private skippedStandIns = 0;
  private hasText = false;
  private attributeCount = 0;
  private hasRoot = false;
  private hasBody = false;
  private readonly elements: OpenElement[] = [];
  private readonly attributes = new Map<string, string>();
  private parser!: Parser;

  constructor(private readonly maxFeeds: number) {}

  onparserinit(parser: Parser): void {
    this.parser = parser;
  }

  onopentagname(name: string): void {
    this.endStartTag();
    const parent = this.elements.at(-1);
    if (!parent && (name !== 'opml' || this.hasRoot))
      throw new OpmlError('the document must have one root element, opml');
    if (this.elements.length === maxDepth)
      throw new OpmlLimitError(`more than ${maxDepth} nested elements`);
    if (name === 'outline' && !this.isInBody) throw new OpmlError('an outline is not in the body');
    if (parent) parent.isCounted = true;
    this.hasRoot = true;
    this.hasBody ||= name === 'body' && this.elements.length === 1;
    this.elements.push({
      name,
      start: this.parser.startIndex,
      isCounted: false,
      hasStandIn: false,
    });
  }

  onattribute(name: string, value: string): void {
    if (++this.attributeCount > maxAttributes)
      throw new OpmlLimitError(`more than ${maxAttributes} attributes`);
    if (this.elements.at(-1)?.name !== 'outline') return;
    if (!attributeNames.has(name) || this.attributes.has(name)) return;
    if (value.length > sliceLength)
      throw new OpmlLimitError(`a value of more than ${sliceLength} characters`);
    this.attributes.set(name, value);
  }

  onclosetag(_name: string, isImplied: boolean): void {
    this.endStartTag();
    const element = this.elements.pop();
    // The parser implies an end for <a/>, at the offset of its start, and for missing end tags.
    if (isImplied && element?.start !== this.parser.startIndex)
      throw new OpmlError('an element does not end');
    if (!element || element.isCounted || this.elements[1]?.name !== 'body') return;
    if (element.hasStandIn) this.skippedStandIns += 1;
    else this.skipped += 1;
  }

  ontext(text: string): void {
    if (!/\S/.test(text)) return;
    if (this.elements.length === 0) throw new OpmlError('there is text outside of the root');
    this.hasText ||= this.isInBody;
  }

  onprocessinginstruction(name: string): void {
    if (name.startsWith('!')) throw new OpmlError('a document type (DOCTYPE) is not allowed');
  }

  /** Returns the result. @throws OpmlError if the document is truncated or has no body. */
  end(): Opml {
    if (!this.hasRoot) throw new OpmlError('there is no opml element');
    if (this.elements.length > 0) throw new OpmlError('the document is cut off');
    if (!this.hasBody) throw new OpmlError('there is no body');
    const skipped = this.skipped + Number(this.hasText);
    if (this.feeds.length === 0) return { feeds: this.standIns, skipped };
    return { feeds: this.feeds, skipped: skipped + this.skippedStandIns };
  }

  private get isInBody(): boolean {
    return this.elements[1]?.name === 'body';
  }

  /** Adds the feed of the last start tag. Its attributes are complete at the next event. */
  private endStartTag(): void {
    const element = this.elements.at(-1);
    if (this.attributes.size === 0 || !element) return;
    const value = (name: string) => decodeHTMLStrict(this.attributes.get(name) ?? '').trim();
    const isFeedType = ['', 'rss'].includes(value('type').toLowerCase());
    const [xmlUrl, url] = [value('xmlurl'), isFeedType ? value('url') : ''];
    if ((xmlUrl || url) && ['0', 'false'].includes(value('subscribed').toLowerCase())) {
      element.isCounted = true;
      this.skipped += 1;
    } else if (xmlUrl || url) {
      element.isCounted = xmlUrl !== '';
      element.hasStandIn = xmlUrl === '';
      const feeds = xmlUrl ? this.feeds : this.standIns;
      feeds.push({ feedUrl: xmlUrl || url, title: value('title') || value('text') });
      if (feeds.length > this.maxFeeds)
        throw new OpmlLimitError(`more than ${this.maxFeeds} feeds`);
    }
    this.attributes.clear();
  }
}
