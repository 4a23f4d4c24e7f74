import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeedDocument } from './feed-document.js';
import { FeedReader } from './feed-reader.js';

/** Reads a document in chunks of a size. */
function read(
  document: string | Uint8Array,
  { contentType = '', chunk = 16_384 } = {},
): FeedDocument | undefined {
  const bytes = Buffer.from(document as Uint8Array);
  const reader = new FeedReader(contentType);
  for (let offset = 0; offset < bytes.length; offset += chunk)
    if (!reader.write(bytes.subarray(offset, offset + chunk))) break;
  return reader.end();
}

const rss = (channel: string, attributes = '') =>
  `<?xml version="1.0"?><rss version="2.0"${attributes}><channel>${channel}</channel></rss>`;
const titles = (document?: FeedDocument) => document?.items.map(({ title }) => title);
const item = (title: string, more = '') =>
  `<item><title>${title}</title><guid>${title}</guid>${more}</item>`;

describe('fields', () => {
  it('reads RSS 2.0 with the extensions of podcasts', () => {
    const document = rss(`
      <title>Mind &amp; Matter</title><link>https://a.example/</link>
      <atom:link rel="self" href="https://a.example/feed"/>
      <description><![CDATA[<p>About <b>us</b></p>]]></description>
      <language>en_US</language><managingEditor>x@a.example</managingEditor>
      <itunes:author>Ann</itunes:author><itunes:summary>Long</itunes:summary>
      <image><url>https://a.example/small.png</url><title>No</title><link>no</link></image>
      <itunes:image href="https://a.example/large one.png"/>
      <itunes:owner><itunes:author>No</itunes:author></itunes:owner>
      <podcast:guid>EAD4C236-BF58-58C6-A2C6-A6B28D128CB6</podcast:guid>
      <itunes:new-feed-url>https://b.example/feed</itunes:new-feed-url>
      <itunes:block>Yes</itunes:block><itunes:complete>yes</itunes:complete><ttl>60</ttl>
      <item>
        <title>One</title><guid isPermaLink="false"> g1 </guid>
        <pubDate>Wed, 02 Oct 2002 13:00:00 GMT</pubDate>
        <enclosure url="https://a.example/1.mp3?a=1&amp;b=2" length="1" type="audio/mpeg"/>
        <link>https://a.example/1</link><itunes:duration>1:00</itunes:duration>
        <itunes:image href="https://a.example/1.png"/>
      </item>
      <item><enclosure url="https://a.example/2.mp3"/></item>
      <item><title>Neither guid nor enclosure</title></item>
      <podcast:liveItem><title>Live</title><guid>live</guid></podcast:liveItem>`);
    expect(read(document)).toEqual({
      isWhole: true,
      title: 'Mind & Matter',
      author: 'Ann',
      description: 'About us',
      link: 'https://a.example/',
      language: 'en-US',
      imageUrl: 'https://a.example/large one.png',
      declaredGuid: 'ead4c236-bf58-58c6-a2c6-a6b28d128cb6',
      newFeedUrl: 'https://b.example/feed',
      isBlocked: true,
      isComplete: true,
      ttl: 60,
      items: [
        {
          guid: 'g1',
          title: 'One',
          publishDate: new Date('2002-10-02T13:00:00Z'),
          enclosureUrl: 'https://a.example/1.mp3?a=1&b=2',
          episodeUrl: 'https://a.example/1',
          imageUrl: 'https://a.example/1.png',
          duration: 60,
        },
        { enclosureUrl: 'https://a.example/2.mp3' },
      ],
    });
  });

  it.each(['', 'atom:'])('reads Atom with the prefix "%s"', (prefix) => {
    const tag = (text: string) => text.replaceAll(/<(\/?)(?=\w)/g, `<$1${prefix}`);
    const document = tag(`<feed xmlns${prefix && ':atom'}="http://www.w3.org/2005/Atom">
      <title type="html">Ferm&amp;eacute;e</title><subtitle>Sub</subtitle>
      <link rel="self" href="https://a.example/feed"/><link href="https://a.example/"/>
      <author><name>Ann</name><uri>no</uri></author><logo>https://a.example/logo.png</logo>
      <entry><id>urn:1</id><title>One</title><author><name>Bob</name></author>
        <published>2002-10-02T13:00:00Z</published><updated>2003-01-01T00:00:00Z</updated>
        <link rel="enclosure" href="https://a.example/1.mp3"/>
        <link rel="alternate" href="https://a.example/1"/></entry></feed>`);
    expect(read(document)).toMatchObject({
      isWhole: true,
      title: 'Fermée',
      author: 'Ann',
      description: 'Sub',
      link: 'https://a.example/',
      imageUrl: 'https://a.example/logo.png',
      items: [
        {
          guid: 'urn:1',
          title: 'One',
          publishDate: new Date('2002-10-02T13:00:00Z'),
          enclosureUrl: 'https://a.example/1.mp3',
          episodeUrl: 'https://a.example/1',
        },
      ],
    });
  });

  it('reads RSS 1.0, whose items are outside of the channel', () => {
    const document = `<rdf:RDF><channel><title>T</title></channel>
      <item><title>One</title><link>https://a.example/1</link><guid>1</guid>
      <dc:date>2002-10-02</dc:date></item></rdf:RDF>`;
    expect(read(document)).toMatchObject({
      isWhole: true,
      title: 'T',
      items: [{ publishDate: new Date('2002-10-02T00:00:00Z') }],
    });
  });

  it('reads unusual prefixes and letter case', () => {
    const namespaces = ` xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"`;
    const document = rss('<TITLE>T</TITLE><i:author>Ann</i:author>', namespaces);
    expect(read(document)).toMatchObject({ title: 'T', author: 'Ann' });
  });

  it('ignores unusable values', () => {
    const document = rss(`<title> </title><title>T</title><link>/about</link><ttl>soon</ttl>
      <itunes:image href="javascript:x"/><podcast:guid>no UUID</podcast:guid>
      <language>English, mostly</language><itunes:new-feed-url>x</itunes:new-feed-url>`);
    const { isWhole, isBlocked, isComplete, items, ...rest } = read(document) ?? {};
    expect([isWhole, isBlocked, isComplete, items]).toEqual([true, false, false, []]);
    expect(JSON.parse(JSON.stringify(rest))).toEqual({ title: 'T' });
  });

  it('keeps the first of duplicate guids', () => {
    const document = rss(item('1', '<link>https://a.example/a</link>') + item('2') + item('1'));
    expect(titles(read(document))).toEqual(['1', '2']);
    expect(read(document)?.items[0]?.episodeUrl).toBe('https://a.example/a');
  });

  it('returns the values of any well-formed feed', () => {
    const texts = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .map((text) => text.replace(/[\p{C}\p{DI}\s&]+/gu, ' ').trim())
      .filter((text) => text !== '');
    const escaped = (text: string) => text.replace(/[<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    const feeds = fc.record({
      title: texts,
      items: fc.uniqueArray(texts, { maxLength: 20 }),
      cdata: fc.boolean(),
      chunk: fc.integer({ min: 1, max: 300 }),
    });
    fc.assert(
      fc.property(feeds, ({ title, items, cdata, chunk }) => {
        const shown = (text: string) =>
          cdata && !text.includes(']]>') ? `<![CDATA[${text}]]>` : escaped(text);
        const document = rss(
          `<title>${shown(title)}</title>${items
            .map((text) => `<item><title>${shown(text)}</title><guid>${shown(text)}</guid></item>`)
            .join('\n')}`,
        );
        const result = read(document, { chunk });
        expect(result?.title).toBe(title);
        expect(titles(result)).toEqual(items);
      }),
      { numRuns: 500 },
    );
  });
});

describe('encodings', () => {
  const windows1251 = (declaration: string) =>
    Buffer.concat([
      Buffer.from(`<?xml version="1.0"${declaration}?><rss><channel><title>`),
      Buffer.of(0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2),
      Buffer.from('</title></channel></rss>'),
    ]);
  const utf8 = (declaration: string) =>
    Buffer.from(rss('<title>Привет</title>').replace('?>', `${declaration}?>`));
  const utf16 = Buffer.from(`\ufeff${rss('<title>Привет</title>')}`, 'utf16le');

  it.each<[string, Buffer, string]>([
    ['windows-1251 of the header', windows1251(''), 'text/xml; charset="windows-1251"'],
    ['windows-1251 of the declaration', windows1251(' encoding="windows-1251"'), 'text/xml'],
    ['the header before the declaration', windows1251(' encoding="koi8-r"'), 'x; charset=cp1251'],
    ['UTF-8', utf8(''), ''],
    ['UTF-8 with another declaration', utf8(' encoding="windows-1251"'), 'x; charset=koi8-r'],
    ['UTF-16 with a byte order mark', utf16, 'text/xml; charset=utf-8'],
    ['UTF-16 in the other byte order', Buffer.from(utf16).swap16(), ''],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${utf8('')}`), 'x; charset=koi8-r'],
  ])('reads %s', (_, document, contentType) => {
    expect(read(document, { contentType, chunk: 7 })?.title).toBe('Привет');
  });

  it('reads windows-1252 if nothing is declared, or something unknown', () => {
    const document = Buffer.from(rss('<title>Café</title>'), 'latin1');
    expect(read(document)?.title).toBe('Café');
    expect(read(document, { contentType: 'x; charset=klingon' })?.title).toBe('Café');
  });

  it('keeps UTF-8 that is declared and has an error', () => {
    const document = Buffer.concat([
      Buffer.from('<rss><channel><title>Café '),
      Buffer.of(0xc3),
      Buffer.from('</title></channel></rss>'),
    ]);
    expect(read(document, { contentType: 'x; charset=utf-8' })?.title).toBe('Café \ufffd');
  });

  it('reads a character that two chunks share', () => {
    const padding = `<!-- ${'x'.repeat(65_536)} -->`;
    const document = rss(`${padding}<title>${'é'.repeat(500)}</title>`);
    for (const chunk of [1_001, 65_535, 65_536])
      expect(read(document, { chunk })?.title).toBe('é'.repeat(500));
  });
});

describe('broken documents', () => {
  const two = item('1') + item('2');

  it.each<[string, string, string[]]>([
    ['a bare ampersand', rss(`<title>T</title>${item('A & B')}${item('2')}`), ['A & B', '2']],
    ['an HTML entity', rss(item('Caf&eacute;') + item('2')), ['Café', '2']],
    ['an enclosure without an end', rss(item('1', '<enclosure url="u">') + item('2')), ['1', '2']],
    [
      'an image and a link without an end',
      rss(`<itunes:image href="u"><atom:link rel="self" href="u">${two}`),
      ['1', '2'],
    ],
    ['text before the root', `Warning: x in y <br /><b>z</b>${rss(two)}`, ['1', '2']],
    ['an element without an end', rss(`<description><p>x</description>${two}`), ['1', '2']],
    ['surplus end tags', rss(`</p></title>${two}</item>`), ['1', '2']],
    ['an item without an end', rss(item('1').replace('</item>', '') + item('2')), ['1', '2']],
    ['an attribute without quotes', rss(two, ' version=2.0 x'), ['1', '2']],
    ['two titles in an item', rss(item('1', '<title>no</title>') + item('2')), ['1', '2']],
  ])('reads %s', (_, document, expected) => {
    const result = read(document);
    expect(titles(result)).toEqual(expected);
    expect(result?.isWhole).toBe(true);
  });

  it('reports a truncated document, wherever it is truncated', () => {
    const document = rss(`<title>Title</title>${two}`);
    const end = document.indexOf('</channel>') + '</channel>'.length;
    for (let length = document.indexOf('</title>') + 8; length < document.length; length++) {
      const result = read(document.slice(0, length));
      expect(result).toMatchObject({ isWhole: length >= end, title: 'Title' });
      expect(['1', '2']).toEqual(expect.arrayContaining(titles(result) ?? []));
    }
    expect(titles(read(document.slice(0, document.indexOf('<guid>2'))))).toEqual(['1']);
  });

  it('is not whole if the input broke off behind the end tag of a copy', () => {
    const reader = new FeedReader();
    reader.write(Buffer.from(rss(two)));
    expect(reader.end(false)).toMatchObject({ isWhole: false });
  });

  it.each([
    ['nothing', ''],
    ['HTML', '<!DOCTYPE html><html><head><title>Not found</title></head></html>'],
    ['JSON', '{"version": "https://jsonfeed.org/version/1.1"}'],
    ['much JSON', JSON.stringify({ text: 'x'.repeat(500_000) })],
    ['OPML', '<opml><body><outline text="rss"/></body></opml>'],
    ['a sitemap', '<urlset><url><loc>https://a.example/</loc></url></urlset>'],
    ['bytes', '\0\u0001\u0002'],
  ])('is no feed: %s', (_, document) => expect(read(document)).toBeUndefined());

  it('does not read document types', () => {
    const entities = Array.from(
      { length: 9 },
      (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`,
    );
    const type = `<!DOCTYPE rss [<!ENTITY l0 "lol">${entities.join('')}
      <!ENTITY x SYSTEM "file:///etc/passwd">]>`;
    const document = `${type}${rss(`${item('&l9;')}${item('&x;')}`)}`;
    expect(titles(read(document))).toEqual(['&l9;', '&x;']);
  });
});

describe('limits', () => {
  const attributes = Array.from({ length: 200_000 }, (_, n) => ` a${n}=""`).join('');
  const hostile: [string, string][] = [
    ['open tags and wrong end tags', `${'<a>'.repeat(200_000)}${'</b>'.repeat(200_000)}`],
    ['attributes', `<a${attributes}/>`],
    ['an attribute of 20 MB', `<a b="${'x'.repeat(20_000_000)}"/>`],
    ['a comment of 20 MB', `<!-- ${'x'.repeat(20_000_000)} -->`],
    ['CDATA of 20 MB', `<description><![CDATA[${'x'.repeat(20_000_000)}]]></description>`],
    ['a tag name of 20 MB', `<${'x'.repeat(20_000_000)}/>`],
    ['entities', `<title>${'&amp;'.repeat(2_000_000)}</title>`],
    ['opened brackets', '<'.repeat(5_000_000)],
    ['brackets in a description', `<description>${'&lt;'.repeat(2_000_000)}</description>`],
    ['end tags', '</a>'.repeat(2_000_000)],
    ['items', item('').repeat(200_000)],
  ];

  it.each(hostile)('reads or gives up soon: %s', (_, channel) => {
    const bytes = Buffer.from(rss(`<title>T</title>${channel}`));
    const reader = new FeedReader();
    let longest = 0;
    for (let offset = 0; offset < bytes.length; offset += 16_384) {
      const start = process.cpuUsage();
      const isUnfinished = reader.write(bytes.subarray(offset, offset + 16_384));
      const { user, system } = process.cpuUsage(start);
      longest = Math.max(longest, (user + system) / 1_000);
      if (!isUnfinished) break;
    }
    expect(reader.end()?.title).toBe('T');
    // CPU time, as other processes can interrupt this one. The usual time is 2 ms.
    expect(longest).toBeLessThan(50);
  });

  it('keeps the 100 newest items in their order, those without a date last', () => {
    const dated = (year: number) => item(`${year}`, `<pubDate>${year}-01-01</pubDate>`);
    const years = Array.from({ length: 450 }, (_, n) => 2_000 + ((n * 7) % 450));
    const newest = years.filter((year) => year >= 2_350);
    const document = rss(item('undated') + years.map(dated).join(''));
    expect(titles(read(document))).toEqual(newest.map(String));
    expect(titles(read(rss(item('undated') + dated(2_000))))).toEqual(['undated', '2000']);
  });

  it('reads at most 10,000 items, and says that there are more', () => {
    const items = Array.from({ length: 10_001 }, (_, n) => item(`${n}`)).join('');
    expect(read(rss(items))?.isWhole).toBe(false);
    expect(read(rss(items.replace(item('0'), '')))?.isWhole).toBe(true);
  });

  it('throws for no bytes', () => {
    const tokens =
      '< > / <rss> <channel> <item> <title> </ </item> </channel> </rss> <link rel=" " = \' & ' +
      '&#1; &amp; <!-- --> <? ?> <![CDATA[ ]]> <! <enclosure <feed> <entry> </entry> xmlns:a="';
    const pieces = fc.constantFrom(' ', '\0', '\ufeff', ...tokens.split(/\s+/));
    const documents = fc.oneof(
      fc.array(pieces, { maxLength: 60 }).map((parts) => Buffer.from(parts.join(''))),
      fc.array(pieces, { maxLength: 60 }).map((parts) => Buffer.from(rss(parts.join('')))),
      fc.uint8Array({ maxLength: 300 }),
    );
    fc.assert(
      fc.property(documents, fc.integer({ min: 1, max: 50 }), (document, chunk) => {
        read(document, { chunk });
      }),
      { numRuns: 2_000 },
    );
  });
});
