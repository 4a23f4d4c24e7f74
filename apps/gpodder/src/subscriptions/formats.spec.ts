import { describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { podcastObject, readFeeds, showFeeds } from './formats.js';

const read = (text: string) => readFeeds('txt', Buffer.from(text), () => undefined);
const readOpml = (text: string) => readFeeds('opml', Buffer.from(text), () => undefined);

describe('a list of feeds as text', () => {
  it.each([
    ['a\nb\r\nc\rd', ['a', 'b', 'c', 'd']],
    ['\n\n a \n\t\n\r\n', [' a ']],
    ['\n', []],
  ])('has one in each line that is not blank: %j', async (text, urls) =>
    expect(await read(text)).toEqual(urls),
  );

  it('is refused with more lines than a list has, also where they are blank', async () => {
    expect(await read(' \n'.repeat(30_000))).toEqual([]);
    await expect(read(' \n'.repeat(30_001))).rejects.toThrow('too large');
  });

  it('of nothing but line feeds makes none of them a text of its own', async () => {
    const before = process.memoryUsage().heapUsed;
    expect(await read('\n'.repeat(5_000_000))).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000);
  });
});

describe('a list of feeds as OPML', () => {
  it('is refused where no outline has a URL, and empty where there is no outline', async () => {
    const folders = '<opml><body><outline text="g"><outline/></outline></body></opml>';
    await expect(readOpml(folders)).rejects.toThrow(Failure);
    expect(await readOpml('<opml><body/></opml>')).toEqual([]);
  });

  it('is read as it was shown', async () => {
    const urls = ['https://a.example/?a=1&b=<"\'>', 'https://b.example/é'];
    expect(await readOpml(showFeeds('opml', urls, [], null).body)).toEqual(urls);
  });
});

describe('a list of feeds as XML', () => {
  it('has every field of a podcast, escaped', () => {
    const { body } = showFeeds('xml', ['https://a.example/?a=1&b=<"\'>'], [], null);
    for (const key of Object.keys(podcastObject('', new Map()))) expect(body).toContain(`<${key}>`);
    expect(body).toContain('<url>https://a.example/?a=1&#38;b=&#60;&#34;&#39;&#62;</url>');
  });
});
