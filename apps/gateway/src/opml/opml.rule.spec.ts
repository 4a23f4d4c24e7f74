import { describe, expect, it } from 'vitest';
import { opmlEnd, opmlOutline, opmlStart } from '#opml';
import fc from 'fast-check';
import { feedsOf } from './opml.rule.js';

const read = (text: string) => feedsOf(Buffer.from(text));
const documentOf = (urls: readonly string[]) => `${opmlStart}${urls.map((url) => opmlOutline(url)).join('')}${opmlEnd}`;
const body = (outlines: string) => `<opml version="2.0"><body>${outlines}</body></opml>`;
const url = 'https://a.example/f';

describe('feedsOf', () => {
  it.each<[string, string, string[]]>([
    ['an outline', body(`<outline xmlUrl="${url}"/>`), [url]],
    [
      'any letter case of xmlUrl',
      body('<outline xmlUrl="a"/><outline xmlurl="b"/><outline XMLURL=\'c\'/>'),
      ['a', 'b', 'c'],
    ],
    [
      'outlines in outlines, in the order of the document',
      body(
        '<outline xmlUrl="1"><outline xmlUrl="2"/></outline><outline><outline><outline xmlUrl="3"/></outline></outline><outline xmlUrl="4"/>',
      ),
      ['1', '2', '3', '4'],
    ],
    ['the same feed twice', body('<outline xmlUrl="a"/><outline xmlUrl="a"/>'), ['a', 'a']],
    ['no titles, and no type', body('<outline xmlUrl="a" type="" text=""/>'), ['a']],
    ['outlines without a feed', body('<outline/><outline url="b"/><outline xmlUrl=""/><outline xmlUrl=" "/>'), []],
    ['no outlines', body(''), []],
    ['no body', '<opml/>', []],
    [
      'the five entities, and numbers',
      body('<outline xmlUrl="?a&amp;b=&lt;&#62;&#x41;&quot;&apos;"/>'),
      ['?a&b=<>A"\''],
    ],
    ['an ampersand that stands for itself', body('<outline xmlUrl="?a=1&b=2"/>'), ['?a=1&b=2']],
    ['an escaped entity', body('<outline xmlUrl="&amp;amp;&amp;copy;"/>'), ['&amp;&copy;']],
    ['white space around it', body('<outline xmlUrl="\n a \t"/>'), ['a']],
    ['a number', body('<outline xmlUrl="1e3"/><outline xmlUrl="007"/>'), ['1e3', '007']],
    [
      'a byte order mark, a declaration, instructions, comments and CDATA',
      `\ufeff<?xml version='1.0' encoding='utf-8'?><?x y?><!-- <outline xmlUrl="n"/> --><opml><head><title><![CDATA[<x>]]></title></head><body><!--<outline xmlUrl="n"/>--><outline xmlUrl="a"/></body></opml>`,
      ['a'],
    ],
  ])('reads %s', (_, text, urls) => expect(read(text)).toEqual(urls));

  it.each([
    ['a document that was cut off', documentOf([url]).slice(0, -10)],
    ['an entity of HTML in an address, which readers read differently', body('<outline xmlUrl="?a&copy;"/>')],
    ['a comment in an address', body('<outline xmlUrl="a&lt;!-- x -->b"/>').replace('&lt;', '<')],
    ['outlines where no list has them', '<opml><outline xmlUrl="a"/><body/></opml>'],
    ['names that objects have of their own', body('<outline xmlUrl="a"/><__proto__/>')],
    ['an encoding that is not read', `<?xml version="1.0" encoding="windows-1252"?>${body('<outline xmlUrl="a"/>')}`],
    ['more than 5,000 feeds', body('<outline xmlUrl="a"/>'.repeat(5_001))],
  ])('refuses %s', (_, text) => expect(read(text)).toBeUndefined());

  it('refuses what is no UTF-8', () => {
    expect(feedsOf(Buffer.from(body('<outline xmlUrl="é"/>'), 'latin1'))).toBeUndefined();
    expect(feedsOf(Buffer.from(`\ufeff${body('')}`, 'utf16le'))).toBeUndefined();
  });

  it('reads what is exported, whatever the URLs are', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(...'& &amp; &copy; &#65; < > " <![CDATA[x]]> ]]> %20 🎙'.split(' '), "'", '<!-- x -->', ' ', '\\'),
    );
    // As URLs are stored: without controls, and without white space around them.
    const stored = fc
      .array(part, { maxLength: 6 })
      .map((parts) => `https://a.example/${parts.join('')}`.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '').trim());
    fc.assert(fc.property(fc.array(stored), (urls) => void expect(read(documentOf(urls))).toEqual(urls)));
  });

  it('has an answer to any text', () => {
    const part = fc.constantFrom(
      ...'< > / <opml <body xmlUrl = " &#1; & <!-- --> <? <![CDATA[ ]]> </ x'.split(' '),
      '<outline ',
      "'",
      ' ',
      '\0',
    );
    const made = fc.array(part, { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.oneof(
          made,
          made.map((text) => body(text)),
        ),
        (text) => void read(text),
      ),
    );
  });
});
