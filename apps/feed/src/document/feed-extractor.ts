import type { Handler } from 'htmlparser2';
import {
  attributeFields,
  emptyElements,
  type Field,
  type FieldName,
  linkFields,
  type Scope,
  textFields,
  usualPrefixes,
} from './feed-elements.js';

/** Limits of nested elements, attributes per element, and items. Reading ends above them. */
const [maxDepth, maxAttributes, maxItems] = [64, 100, 10_000];
/**
 * Limits of characters: of a field, of a description with its HTML, and of all kept texts. Longer
 * fields are cut. Reading ends above the limit of all texts.
 */
const [maxText, maxMarkup, maxKept] = [4_096, 16_384, 8 * 2 ** 20];

/** The texts of a feed or an item, by field. */
export type Texts = ReadonlyMap<FieldName, string>;

/** Thrown if a document exceeds a limit or is not a feed. The rest of the document is not read. */
export class UnreadableError extends Error {}

/** Collects the texts of one feed or item; for each field, the text with the lowest rank. */
class FieldTexts {
  readonly texts = new Map<FieldName, string>();
  private readonly ranks = new Map<FieldName, number>();

  /**
   * Keeps a text if its rank is the field's lowest so far.
   *
   * @returns the number of kept characters.
   */
  addText({ name, rank }: Field, text: string): number {
    const trimmed = text.trim();
    if (trimmed === '' || rank >= (this.ranks.get(name) ?? Infinity)) return 0;
    this.ranks.set(name, rank);
    // The text is copied, because a substring would keep the whole chunk of the document in memory.
    this.texts.set(name, Buffer.from(trimmed).toString());
    return trimmed.length;
  }
}

/**
 * Collects the fields of a feed from the events of htmlparser2 in XML mode, with names in lower
 * case. Throws UnreadableError. Invariants:
 * - `openElements` contains the open elements except {@link emptyElements}. The last one is the
 *   innermost, because the parser closes elements in reverse order, also without end tags.
 * - An item is passed to `onItem` when its own end tag, or that of an outer element, was read.
 */
export class FeedExtractor implements Partial<Handler> {
  /** True once the end tag of the feed was read. */
  isWhole = false;
  /** True once the start tag of a feed's root was read. */
  isFeed = false;
  /** Set by the caller when the input ends. Elements that close afterwards are incomplete. */
  isCut = false;
  /** Characters since the last parser event. The caller adds the length of each chunk. */
  charactersSinceEvent = 0;
  private readonly feed = new FieldTexts();
  private item: FieldTexts | undefined;
  private itemCount = 0;
  private readonly openElements: string[] = [];
  private depth = 0;
  private attributeCount = 0;
  private keptCharacters = 0;
  /** True for Atom, where a `link` is empty and needs no prefix. */
  private isAtom = false;
  /** Usual prefixes by the prefixes that the document declares instead. */
  private readonly prefixes = new Map<string, string>();
  /** The name of the start tag whose attributes are being read, else empty. */
  private currentTag = '';
  /** The attributes of the current `link` element of Atom. */
  private readonly link = { rel: '', href: '' };
  /**
   * The field whose text is being read, the feed or item that gets the text, and the length of
   * `openElements` while that element is the innermost. Undefined between fields.
   */
  private currentField: { field: Field; target: FieldTexts; depth: number } | undefined;
  private currentText = '';

  /** @param onItem receives the fields of each item. */
  constructor(private readonly onItem: (texts: Texts) => void) {}

  /** The fields of the feed. */
  get texts(): Texts {
    return this.feed.texts;
  }

  onopentagname(tagName: string): void {
    this.endStartTag();
    if (++this.depth > maxDepth) throw new UnreadableError('too many nested elements');
    this.attributeCount = 0;
    if (!this.isFeed) this.startDocument(tagName);
    const name = this.toUsualName(tagName);
    this.currentTag = name;
    if (emptyElements.has(name)) return;
    if (isItem(name)) this.startItem();
    else if (!this.currentField) this.startField(name);
    this.openElements.push(name);
  }

  onattribute(attributeName: string, value: string): void {
    this.charactersSinceEvent = 0;
    if (++this.attributeCount > maxAttributes) throw new UnreadableError('too many attributes');
    const name = attributeName.toLowerCase();
    if (this.openElements.length === 1 && name.startsWith('xmlns:'))
      this.addPrefix(name.slice(6), value);
    const attributeField = attributeFields.get(this.currentTag);
    if (attributeField?.attribute === name)
      this.keepText(this.findTexts(), attributeField.field, value);
    if (this.currentTag === 'atom:link' && (name === 'rel' || name === 'href'))
      this.link[name] = value.slice(0, maxText);
  }

  ontext(text: string): void {
    this.charactersSinceEvent = 0;
    if (!this.currentField) return;
    const limit = this.currentField.field.name === 'description' ? maxMarkup : maxText;
    if (this.currentText.length < limit)
      this.currentText += text.slice(0, limit - this.currentText.length);
  }

  oncomment(): void {
    this.charactersSinceEvent = 0;
  }

  onprocessinginstruction(): void {
    this.charactersSinceEvent = 0;
  }

  onclosetag(tagName: string, isImplied: boolean): void {
    this.endStartTag();
    this.depth -= 1;
    const name = this.toUsualName(tagName);
    if (emptyElements.has(name)) return;
    if (this.currentField?.depth === this.openElements.length) this.endField();
    this.openElements.pop();
    if (isItem(name)) this.endItem();
    // The end of the channel ends a feed in RSS 2.0, but not in RSS 1.0, whose items follow it.
    const isEnd =
      this.openElements.length === 0 || (name === 'channel' && this.openElements[0] === 'rss');
    if (isEnd && !isImplied && this.isFeed) this.isWhole = true;
  }

  /**
   * Starts a feed if the tag is a root of one. Ignores other elements before the root, such as
   * those in a warning of a PHP script.
   */
  private startDocument(name: string): void {
    const localName = name.slice(name.indexOf(':') + 1);
    if (localName === 'html') throw new UnreadableError('HTML');
    this.isFeed = ['rss', 'rdf', 'feed'].includes(localName);
    if (!this.isFeed) return;
    this.isAtom = localName === 'feed';
    this.openElements.length = 0;
  }

  /** Returns a name with its usual prefix. In Atom, only `link` gets the prefix `atom:`. */
  private toUsualName(tagName: string): string {
    let name = tagName;
    if (this.prefixes.size > 0) {
      const colon = tagName.indexOf(':');
      const usualPrefix = colon > 0 && this.prefixes.get(tagName.slice(0, colon));
      if (usualPrefix) name = usualPrefix + tagName.slice(colon);
    }
    if (!this.isAtom) return name;
    if (name === 'link') return 'atom:link';
    return name.startsWith('atom:') && name !== 'atom:link' ? name.slice(5) : name;
  }

  private addPrefix(prefix: string, namespace: string): void {
    const usualPrefix = usualPrefixes.get(namespace.trim().toLowerCase());
    if (usualPrefix !== undefined && usualPrefix !== prefix) this.prefixes.set(prefix, usualPrefix);
  }

  /** Returns the scope of the innermost open element; undefined if that element has no fields. */
  private findCurrentScope(): Scope | undefined {
    const parent = this.openElements.at(-1) ?? '';
    if (isItem(parent)) return 'item';
    if (parent === 'channel' || (parent === 'feed' && this.isAtom)) return 'feed';
    if (parent !== 'image' && parent !== 'author') return undefined;
    return isItem(this.openElements.at(-2) ?? '') ? undefined : parent;
  }

  private findTexts(scope = this.findCurrentScope()): FieldTexts | undefined {
    return scope === 'item' ? this.item : scope && this.feed;
  }

  private startField(name: string): void {
    const scope = this.findCurrentScope();
    const field = scope && textFields[scope].get(name);
    const target = this.findTexts(scope);
    if (!field || !target) return;
    this.currentField = { field, target, depth: this.openElements.length + 1 };
    this.currentText = '';
  }

  private endField(): void {
    if (this.currentField)
      this.keepText(this.currentField.target, this.currentField.field, this.currentText);
    this.currentField = undefined;
  }

  /** Starts an item. Ends the previous item if its end tag is missing. */
  private startItem(): void {
    this.currentField = undefined;
    this.endItem();
    this.item = new FieldTexts();
  }

  private endItem(): void {
    if (!this.item || this.isCut) return;
    if (++this.itemCount > maxItems) throw new UnreadableError('too many items');
    this.onItem(this.item.texts);
    this.item = undefined;
  }

  /** Ends a start tag. Keeps the URL of a link of Atom, because all its attributes were read. */
  private endStartTag(): void {
    this.charactersSinceEvent = 0;
    if (this.currentTag === 'atom:link') {
      const field = linkFields.get(this.link.rel.trim().toLowerCase());
      if (field) this.keepText(this.findTexts(), field, this.link.href);
      this.link.rel = '';
      this.link.href = '';
    }
    this.currentTag = '';
  }

  private keepText(target: FieldTexts | undefined, field: Field, text: string): void {
    if (!target || this.isCut) return;
    this.keptCharacters += target.addText(field, text.slice(0, maxMarkup));
    if (this.keptCharacters > maxKept) throw new UnreadableError('too much text');
  }
}

function isItem(name: string): boolean {
  return name === 'item' || name === 'entry';
}
