import { decodeHTMLStrict } from 'entities/decode';
import { type Handler, Parser } from 'htmlparser2';
import { textOf } from './document.text.js';

/** The most bytes of one document; 5,000 feeds have some 2,000,000. */
export const maxOpmlBytes = 10_000_000;

/** The most nested elements, and attributes of one document; 5,000 feeds have some 35,000. */
const [maxDepth, maxAttributes] = [100, 100_000];

/** Characters that are parsed without a pause, and the most of one value. The worst take 20 ms. */
const sliceLength = 65_536;

/** The attributes of outlines that are read, in lower case. */
const attributeNames = new Set(['xmlurl', 'url', 'type', 'title', 'text']);

/** A feed of a document. */
export interface OpmlFeed {
  /** Not empty, and without white space around it; else whatever the document says. */
  readonly feedUrl: string;
  /** The name of the feed in the document; may be empty. */
  readonly title: string;
}

/** The content of a document. */
export interface Opml {
  /** The feeds in the order of the document. A feed that comes twice is two entries. */
  readonly feeds: readonly OpmlFeed[];
  /** The number of outlines that have neither a feed URL nor outlines of their own. */
  readonly skipped: number;
}

/** The document is not OPML, is cut off or exceeds a bound; the message says which. */
export class OpmlError extends Error {}

/**
 * Reads an OPML document (opml.org/spec2.opml) as podcast apps write it: names of elements and
 * attributes in any letter case, bare ampersands, entities of HTML, any encoding ({@link textOf}),
 * folders. The feed URL is `xmlUrl`, or `url` where the type is `rss`. The time is linear in the
 * bytes.
 *
 * @param pause resolves when the next slice of a large document may be parsed.
 * @throws OpmlError and nothing else.
 */
export async function readOpml(document: Uint8Array, pause: () => Promise<void>): Promise<Opml> {
  if (document.length > maxOpmlBytes) throw new OpmlError(`more than ${maxOpmlBytes} bytes`);
  if (document.length > sliceLength) await pause();
  const text = textOf(document);
  const reader = new OutlineReader();
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

/** An open element. */
interface Element {
  readonly name: string;
  /** The position of its start tag. */
  readonly start: number;
  /** Whether it has a feed URL or outlines of its own. */
  isUsed: boolean;
}

/** Collects the feeds from the events of the parser. */
class OutlineReader implements Partial<Handler> {
  private readonly feeds: OpmlFeed[] = [];
  private skipped = 0;
  private attributeCount = 0;
  private hasRoot = false;
  private readonly elements: Element[] = [];
  /** The attributes of the start tag that is read, where it is that of an outline. */
  private readonly attributes = new Map<string, string>();
  private parser!: Parser;

  onparserinit(parser: Parser): void {
    this.parser = parser;
  }

  onopentagname(name: string): void {
    this.endStartTag();
    const parent = this.elements.at(-1);
    if (!parent && (name !== 'opml' || this.hasRoot)) throw new OpmlError('the root is not one opml element');
    if (this.elements.length === maxDepth) throw new OpmlError(`more than ${maxDepth} nested elements`);
    if (name === 'outline') {
      if (this.elements[1]?.name !== 'body') throw new OpmlError('an outline is not in the body');
      if (parent) parent.isUsed = true;
    }
    this.hasRoot = true;
    this.elements.push({ name, start: this.parser.startIndex, isUsed: false });
  }

  onattribute(name: string, value: string): void {
    if (++this.attributeCount > maxAttributes) throw new OpmlError(`more than ${maxAttributes} attributes`);
    if (this.elements.at(-1)?.name !== 'outline') return;
    if (!attributeNames.has(name) || this.attributes.has(name)) return;
    if (value.length > sliceLength) throw new OpmlError(`a value of more than ${sliceLength} characters`);
    this.attributes.set(name, value);
  }

  onclosetag(_name: string, isImplied: boolean): void {
    this.endStartTag();
    const element = this.elements.pop();
    // The parser implies the end of <a/>, which has the position of its start, and missing ends.
    if (isImplied && element?.start !== this.parser.startIndex) throw new OpmlError('an element does not end');
    if (element?.name === 'outline' && !element.isUsed) this.skipped += 1;
  }

  ontext(text: string): void {
    if (this.elements.length === 0 && /\S/.test(text)) throw new OpmlError('there is text outside of the root');
  }

  onprocessinginstruction(name: string): void {
    if (name.startsWith('!')) throw new OpmlError('there is a document type');
  }

  /** @throws OpmlError where the document is cut off. */
  end(): Opml {
    if (!this.hasRoot) throw new OpmlError('there is no opml element');
    if (this.elements.length > 0) throw new OpmlError('the document is cut off');
    return { feeds: this.feeds, skipped: this.skipped };
  }

  /** Takes the feed of the start tag, whose attributes are complete once another event comes. */
  private endStartTag(): void {
    if (this.attributes.size === 0) return;
    const value = (name: string) => decodeHTMLStrict(this.attributes.get(name) ?? '').trim();
    const feedUrl = value('xmlurl') || (value('type').toLowerCase() === 'rss' ? value('url') : '');
    const element = this.elements.at(-1);
    if (feedUrl !== '' && element) {
      element.isUsed = true;
      this.feeds.push({ feedUrl, title: value('title') || value('text') });
    }
    this.attributes.clear();
  }
}
