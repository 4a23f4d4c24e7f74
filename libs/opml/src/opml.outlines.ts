/** How much one document may have, comments and the like among it. Of 5,000 feeds real ones have 6,000 tags and 35,000 attributes. */
const [mostTags, mostSkipped, mostAttributes, mostDepth] = [15_000, 2_000, 100_000, 100];

/** Parts of XML 1.0, each to be found where the last one ended. */
const [name, attribute, tagEnd] = [
  /[A-Za-z_][\w:.-]*/y,
  /\s+([A-Za-z_][\w:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y,
  /\s*(\/?)>/y,
];

/** What is skipped as a whole, by how it begins. A DTD is not: no document of a podcast app has one. */
const skipped = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;

/** An outline by the addresses that it has, their entities replaced. */
export interface Outline {
  readonly xmlUrl?: string;
  readonly url?: string;
}

/**
 * The outlines of an OPML document (opml.org/spec2.opml), however deep, in its order.
 * Reads only tags and attributes, each byte once: no parser of XML that knows all of it takes as little time for what a
 * stranger could make up. Entities are the five of XML and numbers. Names of attributes count in any letter case.
 *
 * @returns `undefined` where it is not one, has a DTD, or more of anything than real ones have.
 */
export function readOutlines(text: string): Outline[] | undefined {
  return new OutlineReader(text).read();
}

class OutlineReader {
  private readonly outlines: Outline[] = [];
  private readonly open: string[] = [];
  private at = 0;
  private tags = 0;
  private skips = 0;
  private attributes = 0;

  constructor(private readonly text: string) {}

  read(): Outline[] | undefined {
    for (;;) {
      this.at = this.text.indexOf('<', this.at);
      if (this.at < 0) break;
      if (this.skip()) {
        if (++this.skips > mostSkipped) return undefined;
        continue;
      }
      const isRead = this.text[this.at + 1] === '/' ? this.readEnd() : this.readStart();
      if (!isRead || this.at < 0) return undefined;
    }
    return this.tags > 0 && this.open.length === 0 ? this.outlines : undefined;
  }

  /** Skips a comment, characters as they are, or an instruction. One that does not end hides an open tag. */
  private skip(): boolean {
    const part = skipped.find(([start]) => this.text.startsWith(start, this.at));
    if (!part) return false;
    const end = this.text.indexOf(part[1], this.at + part[0].length);
    this.at = end < 0 ? this.text.length : end + part[1].length;
    return true;
  }

  private readEnd(): boolean {
    this.at += 2;
    const found = this.match(name)?.[0];
    return found !== undefined && found === this.open.pop() && this.match(tagEnd)?.[1] === '';
  }

  private readStart(): boolean {
    this.at += 1;
    const found = this.match(name)?.[0];
    if (found === undefined || ++this.tags > mostTags) return false;
    // One root, and that an OPML's.
    if (this.open.length === 0 && (found !== 'opml' || this.tags > 1)) return false;
    const outline: { xmlUrl?: string; url?: string } = {};
    for (;;) {
      const [, key, one, other] = this.match(attribute) ?? [];
      if (key === undefined) break;
      if (++this.attributes > mostAttributes) return false;
      // Some write it in small letters.
      const small = key.toLowerCase();
      if (small === 'xmlurl') outline.xmlUrl = decoded(one ?? other ?? '');
      if (small === 'url') outline.url = decoded(one ?? other ?? '');
    }
    const end = this.match(tagEnd);
    if (!end) return false;
    if (end[1] === '' && this.open.push(found) > mostDepth) return false;
    if (found === 'outline') this.outlines.push(outline);
    return true;
  }

  private match(form: RegExp): RegExpExecArray | undefined {
    form.lastIndex = this.at;
    const found = form.exec(this.text);
    if (found) this.at = form.lastIndex;
    return found ?? undefined;
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** A value without its entities (XML 1.0, 4.1); one that is not known stays as it is. */
function decoded(value: string): string {
  return value.replace(/&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|([a-z]{2,4}));/g, (whole, decimal, hex, known) => {
    if (known !== undefined) return entities[known as string] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex as string, 16);
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}
