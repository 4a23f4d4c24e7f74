import { describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { toPodcastObject, parseFeedList, serializeFeeds } from './formats.js';

const read = (text: string) => parseFeedList('txt', Buffer.from(text), 10);
const readOpml = (text: string) => parseFeedList('opml', Buffer.from(text), 10);

describe('readFeeds of text', () => {
  it.each([
    ['a\nb\r\nc\rd', ['a', 'b', 'c', 'd']],
    ['\n\n a \n\t\n\r\n', [' a ']],
    ['\n', []],
  ])('returns the lines that are not blank: %j', async (text, urls) =>
    expect(await read(text)).toEqual(urls),
  );

  it('rejects too many lines, also blank ones', async () => {
    expect(await read(' \n'.repeat(30_000))).toEqual([]);
    await expect(read(' \n'.repeat(30_001))).rejects.toThrow('too large');
  });

  it('allocates no string per empty line', async () => {
    const before = process.memoryUsage().heapUsed;
    expect(await read('\n'.repeat(5_000_000))).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000);
  });
});

describe('readFeeds of OPML', () => {
  it('rejects outlines without a URL, but not an empty list', async () => {
    const folders = '<opml><body><outline text="g"><outline/></outline></body></opml>';
    await expect(readOpml(folders)).rejects.toThrow(Failure);
    expect(await readOpml('<opml><body/></opml>')).toEqual([]);
  });

  it('returns the feeds of a written list', async () => {
    const [a, b] = ['https://a.example/?a=1&b=<"\'>', 'https://b.example/é'];
    const { body } = serializeFeeds('opml', [{ url: a, title: 'A & <A>' }, { url: b }], [], null);
    expect(await readOpml(body)).toEqual([
      { url: a, title: 'A & <A>' },
      { url: b, title: b },
    ]);
  });
});

describe('serializeFeeds of XML', () => {
  it('has all fields of a podcast, escaped', () => {
    const { body } = serializeFeeds('xml', [{ url: 'https://a.example/?a=1&b=<"\'>' }], [], null);
    const fields = Object.keys(toPodcastObject({ url: '' }, new Map()));
    for (const key of fields) expect(body).toContain(`<${key}>`);
    expect(body).toContain('<url>https://a.example/?a=1&#38;b=&#60;&#34;&#39;&#62;</url>');
  });
});
