import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOutlines } from './opml.outlines.js';
import { escaped, opmlEnd, opmlOutline, opmlStart } from './opml.text.js';

/** The addresses of all outlines. */
const readOpml = (text: string) =>
  readOutlines(text)?.flatMap(({ xmlUrl, url }) => [xmlUrl ?? url].filter((one) => one !== undefined));

const written = (urls: readonly string[]) => `${opmlStart}${urls.map((url) => opmlOutline(url)).join('')}${opmlEnd}`;

describe('readOutlines', () => {
  it.each([
    ['an outline', '<opml><body><outline xmlUrl="https://a.example/x"/></body></opml>', ['https://a.example/x']],
    [
      'outlines in outlines',
      '<opml><outline text="g"><outline xmlUrl="a"><outline xmlUrl="b"/></outline></outline></opml>',
      ['a', 'b'],
    ],
    ['url in the place of xmlUrl', "<opml><outline url='a'/></opml>", ['a']],
    ['xmlUrl in any letter case', '<opml><outline url="a" xmlurl="b"/><outline XMLURL="c"/></opml>', ['b', 'c']],
    ['folders without a URL', '<opml><outline text="g"/><outline xmlUrl="a"/></opml>', ['a']],
    ['xmlUrl before url', '<opml><outline url="a" xmlUrl="b"/></opml>', ['b']],
    [
      'entities and numbers',
      '<opml><outline xmlUrl="a?b=1&amp;c=&lt;&#62;&#x41;&unknown;&#0;"/></opml>',
      ['a?b=1&c=<>A&unknown;&#0;'],
    ],
    [
      'a declaration, comments and characters',
      '\ufeff<?xml version="1.0"?><!-- <outline xmlUrl="no"/> -->\n<opml version="2.0"><head><title><![CDATA[<outline xmlUrl="no"/>]]></title></head></opml>',
      [],
    ],
    ['white space', '<opml>\n<outline\n\ttext = "a > b"\n xmlUrl\n=\n"u"\n/>\n</opml >', ['u']],
    ['nothing but a root', '<opml/>', []],
  ])('reads %s', (_, text, urls) => expect(readOpml(text)).toEqual(urls));

  it.each([
    ['nothing', ''],
    ['a text', 'https://a.example/x'],
    ['another root', '<html></html>'],
    ['two roots', '<opml/><opml/>'],
    ['what does not end', '<opml><body></body>'],
    ['what ends crosswise', '<opml><a><b></a></b></opml>'],
    ['an end without a start', '<opml></opml></opml>'],
    ['an attribute without quotes', '<opml><outline xmlUrl=x/></opml>'],
    ['a tag in a value', '<opml><outline xmlUrl="<x"/></opml>'],
    ['a DTD', '<!DOCTYPE opml SYSTEM "https://a.example/dtd"><opml/>'],
    [
      'an entity of its own',
      '<!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd">]><opml><outline xmlUrl="&x;"/></opml>',
    ],
    ['a comment that does not end', '<opml><!-- </opml>'],
    ['what is too deep', `<opml>${'<outline>'.repeat(200)}${'</outline>'.repeat(200)}</opml>`],
    ['more attributes than any list has', `<opml><outline${' a="b"'.repeat(200_001)}/></opml>`],
    ['more comments than any list has', `<opml>${'<!---->'.repeat(10_001)}</opml>`],
    ['more instructions than any list has', `<opml>${'<??>'.repeat(10_001)}</opml>`],
    ['more tags than any list has', `<opml>${'<a/>'.repeat(50_001)}</opml>`],
  ])('refuses %s', (_, text) => expect(readOpml(text)).toBeUndefined());

  it('takes any text without an error', () => {
    const part = fc.constantFrom(...'< > / <opml xmlUrl = " &#1; <!-- --> <? x'.split(' '), '<outline ', "'", ' ');
    fc.assert(fc.property(fc.array(part, { maxLength: 40 }), (parts) => void readOpml(parts.join(''))));
  });

  it.each([
    ['spaces in a tag', (count: number) => `<opml><outline ${' '.repeat(count)}`],
    ['opened brackets', (count: number) => `<opml>${'<'.repeat(count)}`],
    ['comments that do not end', (count: number) => `<opml>${'<!--'.repeat(count / 4)}`],
    ['a long value', (count: number) => `<opml><outline a="${'x'.repeat(count)}`],
    ['ampersands', (count: number) => `<opml><outline xmlUrl="${'&'.repeat(count)}"/></opml>`],
  ])('takes time in proportion to %s', (_, text) => {
    const timeOf = (count: number) => {
      const sent = text(count);
      const begun = performance.now();
      readOpml(sent);
      return performance.now() - begun;
    };
    timeOf(50_000);
    // Ten times as much: a hundred times as long if it were quadratic.
    expect(timeOf(1_000_000)).toBeLessThan(40 * Math.max(timeOf(100_000), 5));
  });
});

describe('what is written', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom(...'& < > " ; # amp; &#38; ]]> <!-- é 🎙'.split(' '), "'", '\t', '\n', ' '),
    }),
  );

  it('is read back, whatever the URLs are, but for what XML has no way to say', () => {
    fc.assert(
      fc.property(fc.array(hostile), (urls) => {
        expect(readOpml(written(urls))).toEqual(urls.map((url) => sayable(url)));
      }),
    );
  });

  it.each([
    ['NUL and other controls', 'a\0b\u0001c\u001fd', 'abcd'],
    ['lone surrogates', 'a\ud800b\udc00c', 'abc'],
    ['what is no character', 'a\ufffeb\uffffc', 'abc'],
  ])('is without %s', (_, text, left) => expect(escaped(text)).toBe(left));

  it('keeps white space and pairs of surrogates', () =>
    expect(escaped('\t\n\r \u{1f399}')).toBe('&#9;&#10;&#13; \u{1f399}'));
});

/** A text without the characters that XML 1.0 forbids (2.2), found one by one. */
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
