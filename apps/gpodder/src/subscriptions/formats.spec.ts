import { describe, expect, it } from 'vitest';
import { podcastObject, readFeeds, readOpml, showFeeds } from './formats.js';

const read = (text: string) => readFeeds('txt', Buffer.from(text), () => undefined);

describe('a list of feeds as text', () => {
  it.each([
    ['a\nb\r\nc\rd', ['a', 'b', 'c', 'd']],
    ['\n\n a \n\t\n\r\n', [' a ']],
    ['\n', []],
  ])('has one in each line that is not blank: %j', (text, urls) => expect(read(text)).toEqual(urls));

  it('is refused with more lines than a list has, also where they are blank', () => {
    expect(read(' \n'.repeat(30_000))).toEqual([]);
    expect(() => read(' \n'.repeat(30_001))).toThrow('too large');
  });

  it('of nothing but line feeds makes none of them a text of its own', () => {
    const before = process.memoryUsage().heapUsed;
    expect(read('\n'.repeat(5_000_000))).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000);
  });
});

describe('a list of feeds as OPML', () => {
  it('has the xmlUrl of an outline, else its url', () =>
    expect(readOpml('<opml><outline url="a"/><outline xmlUrl="b" url="c"/><outline/></opml>')).toEqual(['a', 'b']));

  it('is none where no outline has a URL, and empty where there is no outline', () => {
    expect(readOpml('<opml><outline text="g"><outline/></outline></opml>')).toBeUndefined();
    expect(readOpml('<opml/>')).toEqual([]);
  });

  it('is read as it was shown', () => {
    const urls = ['https://a.example/?a=1&b=<"\'>', 'https://b.example/é'];
    expect(readOpml(showFeeds('opml', urls, [], null).body)).toEqual(urls);
  });
});

describe('a list of feeds as XML', () => {
  it('has every field of a podcast, escaped', () => {
    const { body } = showFeeds('xml', ['https://a.example/?a=1&b=<"\'>'], [], null);
    for (const key of Object.keys(podcastObject(''))) expect(body).toContain(`<${key}>`);
    expect(body).toContain('<url>https://a.example/?a=1&#38;b=&#60;&#34;&#39;&#62;</url>');
  });
});
