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
} from './feed.elements.js';

/** Limits of nested elements, of attributes per element, and of items. */
const [maxDepth, maxAttributes, maxItems] = [64, 100, 10_000];
/** Limits of characters per field, of a description with its HTML, and of all kept texts. */
const [maxText, maxMarkup, maxKept] = [4_096, 16_384, 8 * 2 ** 20];

/** Texts of the fields of a feed or an item. */
export type Texts = ReadonlyMap<FieldName, string>;

/** A document exceeds a limit or is not a feed. The unread part of it is skipped. */
export class UnreadableError extends Error {}

/** Collects the texts of one feed or item: of each field the one with the lowest rank. */
class FieldTexts {
  readonly texts = new Map<FieldName, string>();
  private readonly ranks = new Map<FieldName, number>();

  /** @returns the number of kept characters. */
  add({ name, rank }: Field, text: string): number {
    const trimmed = text.trim();
    if (trimmed === '' || rank >= (this.ranks.get(name) ?? Infinity)) return 0;
    this.ranks.set(name, rank);
    // Copied, because a substring references the whole chunk of the document.
    this.texts.set(name, Buffer.from(trimmed).toString());
    return trimmed.length;
  }
}

/**
 * Collects the fields of a feed from the events of htmlparser2 in XML mode, with names in lower
 * case. Throws UnreadableError. Invariants:
 * - `open` contains the open elements except {@link emptyElements}. The parser closes elements in
 *   reverse order, also those whose end tags are missing, so the last one is the current one.
 * - An item counts once its own end tag, or an outer one, was read.
 */
export class FeedExtractor implements Partial<Handler> {
  /** True once the end tag of the feed was read. */
  isWhole = false;
  /** True once the root of a feed was read. */
  isFeed = false;
  /** The caller sets it when the input ends. Elements that close after it are incomplete. */
  isCut = false;
  /** Characters since the last parser event. The caller adds the length of each chunk. */
  charactersSinceEvent = 0;
  private readonly feed = new FieldTexts();
  private item: FieldTexts | undefined;
  private itemCount = 0;
  private readonly open: string[] = [];
  private depth = 0;
  private attributeCount = 0;
  private kept = 0;
  /** True for Atom, where a `link` is empty and needs no prefix. */
  private isAtom = false;
  private readonly prefixes = new Map<string, string>();
  /** The name of the last start tag. */
  private tag = '';
  /** The attributes of the current `link` element of Atom. */
  private readonly link = { rel: '', href: '' };
  /** The field of the current text, its target, and the length of `open` including its element. */
  private current: { field: Field; target: FieldTexts; depth: number } | undefined;
  private text = '';

  /** @param onItem receives the fields of each item. */
  constructor(private readonly onItem: (texts: Texts) => void) {}

  /** The fields of the feed. */
  get texts(): Texts {
    return this.feed.texts;
  }

  onopentagname(sent: string): void {
    this.endStartTag();
    if (++this.depth > maxDepth) throw new UnreadableError('too many nested elements');
    this.attributeCount = 0;
    if (!this.isFeed) this.startDocument(sent);
    const name = this.nameOf(sent);
    this.tag = name;
    if (emptyElements.has(name)) return;
    if (isItem(name)) this.startItem();
    else if (!this.current) this.startField(name);
    this.open.push(name);
  }

  onattribute(sent: string, value: string): void {
    this.charactersSinceEvent = 0;
    if (++this.attributeCount > maxAttributes) throw new UnreadableError('too many attributes');
    const name = sent.toLowerCase();
    if (this.open.length === 1 && name.startsWith('xmlns:')) this.addPrefix(name.slice(6), value);
    const source = attributeFields.get(this.tag);
    if (source?.attribute === name) this.keep(this.target(), source.field, value);
    if (this.tag === 'atom:link' && (name === 'rel' || name === 'href'))
      this.link[name] = value.slice(0, maxText);
  }

  ontext(text: string): void {
    this.charactersSinceEvent = 0;
    if (!this.current) return;
    const limit = this.current.field.name === 'description' ? maxMarkup : maxText;
    if (this.text.length < limit) this.text += text.slice(0, limit - this.text.length);
  }

  oncomment(): void {
    this.charactersSinceEvent = 0;
  }

  onprocessinginstruction(): void {
    this.charactersSinceEvent = 0;
  }

  onclosetag(sent: string, isImplied: boolean): void {
    this.endStartTag();
    this.depth -= 1;
    const name = this.nameOf(sent);
    if (emptyElements.has(name)) return;
    if (this.current?.depth === this.open.length) this.endField();
    this.open.pop();
    if (isItem(name)) this.endItem();
    // RSS 1.0 has its items outside of the channel.
    const isEnd = this.open.length === 0 || (name === 'channel' && this.open[0] === 'rss');
    if (isEnd && !isImplied && this.isFeed) this.isWhole = true;
  }

  /** Starts a feed at its root. Ignores elements before it, such as warnings of a PHP script. */
  private startDocument(name: string): void {
    const local = name.slice(name.indexOf(':') + 1);
    if (local === 'html') throw new UnreadableError('HTML');
    this.isFeed = ['rss', 'rdf', 'feed'].includes(local);
    if (!this.isFeed) return;
    this.isAtom = local === 'feed';
    this.open.length = 0;
  }

  /** Returns an element's name with its usual prefix. Atom elements get none, except links. */
  private nameOf(sent: string): string {
    let name = sent;
    if (this.prefixes.size > 0) {
      const colon = sent.indexOf(':');
      const usual = colon > 0 && this.prefixes.get(sent.slice(0, colon));
      if (usual) name = usual + sent.slice(colon);
    }
    if (!this.isAtom) return name;
    if (name === 'link') return 'atom:link';
    return name.startsWith('atom:') && name !== 'atom:link' ? name.slice(5) : name;
  }

  private addPrefix(prefix: string, namespace: string): void {
    const usual = usualPrefixes.get(namespace.trim().toLowerCase());
    if (usual !== undefined && usual !== prefix) this.prefixes.set(prefix, usual);
  }

  /** Returns the scope of the innermost open element, if it has fields. */
  private scope(): Scope | undefined {
    const parent = this.open.at(-1) ?? '';
    if (isItem(parent)) return 'item';
    if (parent === 'channel' || (parent === 'feed' && this.isAtom)) return 'feed';
    if (parent !== 'image' && parent !== 'author') return undefined;
    return isItem(this.open.at(-2) ?? '') ? undefined : parent;
  }

  private target(scope = this.scope()): FieldTexts | undefined {
    return scope === 'item' ? this.item : scope && this.feed;
  }

  private startField(name: string): void {
    const scope = this.scope();
    const field = scope && textFields[scope].get(name);
    const target = this.target(scope);
    if (!field || !target) return;
    this.current = { field, target, depth: this.open.length + 1 };
    this.text = '';
  }

  private endField(): void {
    if (this.current) this.keep(this.current.target, this.current.field, this.text);
    this.current = undefined;
  }

  /** Starts an item, and ends one without an end tag. */
  private startItem(): void {
    this.current = undefined;
    this.endItem();
    this.item = new FieldTexts();
  }

  private endItem(): void {
    if (!this.item || this.isCut) return;
    if (++this.itemCount > maxItems) throw new UnreadableError('too many items');
    this.onItem(this.item.texts);
    this.item = undefined;
  }

  /** Keeps the URL of the last start tag if it is a link: its attributes are now complete. */
  private endStartTag(): void {
    this.charactersSinceEvent = 0;
    if (this.tag === 'atom:link') {
      const field = linkFields.get(this.link.rel.trim().toLowerCase());
      if (field) this.keep(this.target(), field, this.link.href);
      this.link.rel = '';
      this.link.href = '';
    }
    this.tag = '';
  }

  private keep(target: FieldTexts | undefined, field: Field, text: string): void {
    if (!target || this.isCut) return;
    this.kept += target.add(field, text.slice(0, maxMarkup));
    if (this.kept > maxKept) throw new UnreadableError('too much text');
  }
}

function isItem(name: string): boolean {
  return name === 'item' || name === 'entry';
}
