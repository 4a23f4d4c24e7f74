import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { podcastObject, showFeeds } from './formats.js';
import { readOpml } from './opml.js';

describe('readOpml', () => {
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
    ['outlines of which none has a URL', '<opml><outline text="g"><outline/></outline></opml>'],
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

  it('reads back what is shown, whatever the URLs are', () => {
    const printable = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/\p{Cc}/gu, ''));
    fc.assert(
      fc.property(fc.array(printable), (urls) => {
        const { body } = showFeeds('opml', urls, [], null);
        expect(readOpml(body)).toEqual(urls);
      }),
    );
  });

  it('takes any text without an error', () => {
    const part = fc.constantFrom(
      '<',
      '>',
      '/',
      '<opml',
      '<outline ',
      'xmlUrl',
      '=',
      '"',
      "'",
      ' ',
      '&#1;',
      '<!--',
      '-->',
      '<?',
      'x',
    );
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

describe('a list of feeds', () => {
  it('as XML has every field of a podcast, escaped', () => {
    const { body } = showFeeds('xml', ['https://a.example/?a=1&b=<"\'>'], [], null);
    for (const key of Object.keys(podcastObject(''))) expect(body).toContain(`<${key}>`);
    expect(body).toContain('<url>https://a.example/?a=1&#38;b=&#60;&#34;&#39;&#62;</url>');
  });
});
