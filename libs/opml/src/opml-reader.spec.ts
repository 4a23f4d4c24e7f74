import fc from 'fast-check';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { maxOpmlBytes, OpmlError, OpmlLimitError, readOpml } from './opml-reader.js';
import { escapeXml, writeOpml } from './opml-writer.js';

const read = (text: string) => readOpml(Buffer.from(text), nextTick);
const urlsOf = async (text: string) => (await read(text)).feeds.map(({ feedUrl }) => feedUrl);
const body = (outlines: string) => `<opml version="2.0"><body>${outlines}</body></opml>`;

describe('readOpml', () => {
  it.each<[string, string, string[]]>([
    ['an outline', body('<outline xmlUrl="https://a.example/x"/>'), ['https://a.example/x']],
    [
      'folders at any depth, in the order of the document',
      body(
        '<outline xmlUrl="1"><outline xmlUrl="2"/></outline>' +
          '<outline><outline><outline xmlUrl="3"/></outline></outline><outline xmlUrl="4"/>',
      ),
      ['1', '2', '3', '4'],
    ],
    [
      'names in any letter case',
      '<OPML><Body><Outline XMLURL="a"/><OUTLINE xmlurl="b"></outline>' +
        "<outline XmlUrl='c'/></BODY></opml>",
      ['a', 'b', 'c'],
    ],
    ['the same feed twice', body('<outline xmlUrl="a"/><outline xmlUrl="a"/>'), ['a', 'a']],
    ['xmlUrl before url', body('<outline type="rss" url="a" xmlUrl="b"/>'), ['b']],
    [
      'url where no outline has an xmlUrl',
      body(
        '<outline type="RSS" xmlUrl="" url="a"/><outline type="rss" url="b"/><outline url="c"/>',
      ),
      ['a', 'b', 'c'],
    ],
    [
      'no url next to an xmlUrl',
      body('<outline type="rss" url="a"/><outline xmlUrl="b"/><outline url="c"/>'),
      ['b'],
    ],
    [
      'no url of another type',
      body(
        ['link', 'include', 'podcast-episode']
          .map((type) => `<outline type="${type}" url="a"/>`)
          .join(''),
      ),
      [],
    ],
    [
      'no feed that is not subscribed',
      body(
        '<outline subscribed="0" xmlUrl="a"/><outline subscribed="false" url="b"/>' +
          '<outline subscribed="1" xmlUrl="c"/>',
      ),
      ['c'],
    ],
    ['outlines without a feed', body('<outline/><outline text="g"/><outline xmlUrl=" "/>'), []],
    ['the first of two', body('<outline xmlUrl="a" xmlurl="b"/>'), ['a']],
    [
      'white space around a value and in a tag',
      '<opml>\n<body><outline\n\txmlUrl\n=\n"\n u\t"\n/></body>\n</opml >',
      ['u'],
    ],
    ['a value without quotes', body('<outline xmlUrl=a />'), ['a']],
    ['quotation marks in a value', body('<outline text="The "Best" One" xmlUrl="a"/>'), ['a']],
    ['brackets in a value', body('<outline text="a <b> c" xmlUrl="a"/>'), ['a']],
    [
      'names that objects have',
      body('<__proto__/><outline __proto__="x" constructor="y" xmlUrl="a"/>'),
      ['a'],
    ],
    [
      'an end tag without a start tag',
      body('<outline text="g"/></outline><outline xmlUrl="a"/>'),
      ['a'],
    ],
    [
      'a blank line before the declaration',
      `\n\n<?xml version="1.0"?>${body('<outline xmlUrl="a"/>')}\n`,
      ['a'],
    ],
    [
      'a byte order mark behind a blank line',
      `\n\ufeff<?xml version="1.0"?>${body('<outline xmlUrl="a"/>')}`,
      ['a'],
    ],
    [
      'instructions, comments and CDATA',
      '<?x y?><!-- <outline xmlUrl="n"/> --><opml><head>' +
        '<title><![CDATA[<outline xmlUrl="n"/>]]></title></head><body>' +
        '<!--<outline xmlUrl="n"/>--><outline xmlUrl="a"/></body></opml><!-- x -->',
      ['a'],
    ],
    ['no outlines', body(''), []],
  ])('reads %s', async (_, text, urls) => expect(await urlsOf(text)).toEqual(urls));

  it.each([
    ['bare ampersands', '?a=1&b=2&copy=3&', '?a=1&b=2&copy=3&'],
    ['entities of XML', '&amp;&lt;&gt;&quot;&apos;', '&<>"\''],
    ['entities of HTML', 'x&nbsp;&uuml;&mdash;', 'x\u00a0ü—'],
    ['numbers', '&#62;&#x41;&#x1F399;', '>A🎙'],
    ['numbers of windows-1252', '&#146;&#150;', '’–'],
    ['numbers of no character', 'x&#0;&#xD800;&#9999999;', 'x\ufffd\ufffd\ufffd'],
    ['an escaped entity once', '&amp;amp;&amp;copy;', '&amp;&copy;'],
    ['what only looks like an entity', '&unknown;&;&#;&#x;', '&unknown;&;&#;&#x;'],
  ])('replaces %s', async (_, value, text) =>
    expect(await urlsOf(body(`<outline xmlUrl="${value}"/>`))).toEqual([text]),
  );

  it('names a feed by its title, else by its text', async () => {
    const { feeds } = await read(
      body(
        '<outline xmlUrl="a" text="x" title="Mind & Matter"/>' +
          '<outline xmlUrl="b" text="y" title=""/><outline xmlUrl="c"/>',
      ),
    );
    expect(feeds.map(({ title }) => title)).toEqual(['Mind & Matter', 'y', '']);
  });

  it.each([
    ['nothing', '', 0],
    [
      'an outline without a feed URL',
      '<outline text="g"/><outline xmlUrl=" "/><outline xmlUrl="a"/>',
      2,
    ],
    ['no folder', '<outline text="g"><outline xmlUrl="a"/></outline>', 0],
    [
      'an empty folder within folders',
      '<outline><outline><outline text="g"/></outline></outline>',
      1,
    ],
    ['an outline of another type', '<outline type="link" url="b"/>', 1],
    ['a url next to an xmlUrl', '<outline url="b"/><outline xmlUrl="a"/>', 1],
    ['no url where it is the feed URL', '<outline url="b"/>', 0],
    [
      'the episodes of a feed',
      '<outline xmlUrl="a"><outline type="podcast-episode" url="b"/></outline>',
      1,
    ],
    [
      'an unsubscribed feed',
      '<outline subscribed="0" xmlUrl="a"><outline xmlUrl="b"/></outline>',
      1,
    ],
    ['another element', '<feed url="a"/><outline xmlUrl="a"/>', 1],
    ['text', 'https://a.example/1 <b/> https://a.example/2', 2],
  ])('counts as skipped: %s', async (_, outlines, count) =>
    expect((await read(body(outlines))).skipped).toBe(count),
  );

  it.each([
    ['nothing', '', 'no opml element'],
    ['nothing but a root', '<opml/>', 'no body'],
    ['a document without a body', '<opml><head><body/></head></opml>', 'no body'],
    ['a text', 'https://a.example/x', 'text outside'],
    ['text before the root', `x${body('')}`, 'text outside'],
    ['binary data', `\0\u0001${body('')}`, 'text outside'],
    ['another root', '<html></html>', 'root'],
    ['two roots', '<opml/><opml/>', 'root'],
    [
      'an element that does not end',
      '<opml><body><outline xmlUrl="a"></body></opml>',
      'does not end',
    ],
    ['elements that end crosswise', '<opml><body><a><b></a></b></body></opml>', 'does not end'],
    ['an element whose end tag is in a comment', '<opml><!-- </opml>', 'cut off'],
    [
      'outlines outside of the body',
      '<opml><outline xmlUrl="a"/><body/></opml>',
      'not in the body',
    ],
    [
      'a document type',
      `<!DOCTYPE opml SYSTEM "https://a.example/dtd">${body('')}`,
      'document type',
    ],
    [
      'entities of its own',
      `<!doctype opml [<!ENTITY x SYSTEM "file:///etc/passwd">]>${body('')}`,
      'document type',
    ],
  ])('refuses %s', async (_, text, message) => {
    const error = await read(text).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OpmlError);
    expect(error).not.toBeInstanceOf(OpmlLimitError);
    expect((error as OpmlError).message).toContain(message);
  });

  it.each([
    ['100 nested elements', body(`${'<outline>'.repeat(99)}${'</outline>'.repeat(99)}`)],
    ['100 nested elements', `<opml><body>${'<outline>'.repeat(1_000_000)}`],
    ['100000 attributes', body(`<a${' b=""'.repeat(100_001)}/>`)],
    ['65536 characters', body(`<outline xmlUrl="${'a'.repeat(65_537)}"/>`)],
    ['10000000 bytes', body('').padEnd(maxOpmlBytes + 1)],
    ['3 feeds', body('<outline xmlUrl="a"/>'.repeat(4))],
    ['3 feeds', body('<outline url="a"/>'.repeat(4))],
  ])('names the limit of %s', async (limit, text) => {
    const error = await readOpml(Buffer.from(text), nextTick, { maxFeeds: 3 }).catch(
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(OpmlLimitError);
    expect((error as OpmlError).message).toContain(`more than ${limit}`);
  });

  it('reads documents at its limits', async () => {
    expect((await read(body(`${'<outline>'.repeat(98)}${'</outline>'.repeat(98)}`))).skipped).toBe(
      1,
    );
    expect(await urlsOf(body(`<a${' b=""'.repeat(99_998)}/><outline xmlUrl="a"/>`))).toEqual(['a']);
  });

  it('refuses a document that is cut off, wherever that is', async () => {
    const text = writeOpml(['https://a.example/1', 'https://a.example/2']);
    const whole = text.trimEnd().length;
    for (let length = 0; length < whole; length++)
      await expect(read(text.slice(0, length))).rejects.toThrow(OpmlError);
    expect((await read(text.slice(0, whole))).feeds).toHaveLength(2);
  });

  it('reads a document the same in many slices', async () => {
    const urls = Array.from(
      { length: 5_000 },
      (_, n) => `https://a.example/${n}?é=🎙&b=${'x'.repeat(n % 97)}`,
    );
    let slices = 0;
    const { feeds } = await readOpml(Buffer.from(writeOpml(urls)), async () => void (slices += 1));
    expect(feeds.map(({ feedUrl }) => feedUrl)).toEqual(urls);
    expect(slices).toBeGreaterThan(10);
  });

  const tokens =
    '< > / <opml <body <outline </ xmlUrl = " \' &#1; & &nbsp; <!-- --> <? ?> ' +
    '<![CDATA[ ]]> <! x </body> </opml>';
  const pieces = fc.constantFrom(
    ' ',
    '\0',
    '\ufeff',
    '<outline xmlUrl="a"/>',
    ...tokens.split(' '),
  );
  const texts = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''));
  it('throws only its own error for any bytes', async () => {
    const documents = fc.oneof(
      fc.oneof(texts, texts.map(body)).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }),
      fc
        .tuple(texts, fc.constantFrom('latin1', 'utf16le'))
        .map(([text, encoding]) => Buffer.from(`\ufeff${text}`, encoding)),
    );
    await fc.assert(
      fc.asyncProperty(documents, async (document) => {
        const error = await readOpml(document, nextTick).catch((cause: unknown) => cause);
        expect(error instanceof Error && !(error instanceof OpmlError)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['spaces in a tag', (count: number) => body(`<outline ${' '.repeat(count)}/>`)],
    ['opened brackets', (count: number) => `<opml>${'<'.repeat(count)}`],
    ['end tags', (count: number) => `<opml>${'</a>'.repeat(count / 4)}`],
    ['comments that do not end', (count: number) => `<opml>${'<!--'.repeat(count / 4)}`],
    ['a long name', (count: number) => `<opml><${'a'.repeat(count)}`],
    ['a long value', (count: number) => `<opml><a b="${'x'.repeat(count)}`],
    [
      'ampersands',
      (count: number) => body(`<outline xmlUrl="${'&'.repeat(60_000)}"/>`.repeat(count / 60_000)),
    ],
    [
      'entities',
      (count: number) =>
        body(`<outline xmlUrl="${'&amp;'.repeat(12_000)}"/>`.repeat(count / 60_000)),
    ],
  ])('takes time in proportion to %s', async (_, text) => {
    // The fastest of three, because other processes can interrupt one.
    const timeOf = async (count: number) => {
      const document = Buffer.from(text(count));
      const times: number[] = [];
      for (let run = 0; run < 3; run += 1) {
        const start = performance.now();
        await readOpml(document, () => Promise.resolve()).catch(() => undefined);
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    };
    await timeOf(60_000);
    // Ten times the input would take a hundred times as long if it were quadratic.
    expect(await timeOf(1_200_000)).toBeLessThan(40 * Math.max(await timeOf(120_000), 5));
  });
});

describe('a written document', () => {
  const pieces = ['\t', '\n', ' ', ...`& < > " ' ; # amp; &#38; &copy; ]]> <!-- é 🎙`.split(' ')];
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...pieces) }),
    fc.string({ unit: 'grapheme' }),
  );

  it('is read with the same URLs, except for characters that XML excludes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile), async (urls) => {
        const expected = urls.map((url) => sayable(url).trim()).filter((url) => url !== '');
        expect(await urlsOf(writeOpml(urls))).toEqual(expected);
      }),
    );
  });

  it.each([
    ['NUL and other controls', 'a\0b\u0001c\u001fd', 'abcd'],
    ['lone surrogates', 'a\ud800b\udc00c', 'abc'],
    ['what is no character', 'a\ufffeb\uffffc', 'abc'],
  ])('is without %s', (_, text, left) => expect(escapeXml(text)).toBe(left));

  it('preserves white space and pairs of surrogates', () =>
    expect(escapeXml('\t\n\r \u{1f399}')).toBe('&#9;&#10;&#13; \u{1f399}'));
});

/** Returns a text without the characters that XML 1.0 forbids (2.2), by an independent check. */
function sayable(text: string): string {
  const isCharacter = (code: number) =>
    code === 9 ||
    code === 10 ||
    code === 13 ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    code >= 0x10000;
  return [...text].filter((character) => isCharacter(character.codePointAt(0) as number)).join('');
}
