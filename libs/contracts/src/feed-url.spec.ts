import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodedUrls, differentUrls, equalUrls, inBothOrders } from '../testing/url-vectors.js';
import {
  areAlikeUrls,
  areEqualUrls,
  comparableUrl,
  faultInHttpUrl,
  faultInSpacedUrl,
  faultInText,
  noProtocol,
  normalizedUrl,
} from './feed-url.js';

describe('faultInHttpUrl', () => {
  it.each([
    'https://podnews.net/rss',
    'HTTP://Example.com',
    'http://[::1]:80/a?b#c',
    'https://user:pw@host/ä',
  ])('accepts an absolute http or https URL with a host: %s', (url) =>
    expect(faultInHttpUrl(url)).toBeUndefined(),
  );

  it.each(['podnews.net/rss', '//podnews.net/rss', 'example.com:8080/feed', '', '/feed', 'a'])(
    'says that a URL without a scheme has no protocol: "%s"',
    (url) => expect(faultInHttpUrl(url)).toBe(noProtocol),
  );

  it.each([
    ['ftp://host/feed', 'neither http nor https'],
    ['mailto:ann@example.com', 'neither http nor https'],
    ['https://', 'no valid host'],
    ['http:///feed', 'no valid host'],
    ['http:feed', 'no valid host'],
    ['https://host:99999/', 'no valid host'],
    ['https://ho st/feed', 'white space'],
    ['https://host/fe\u00a0ed', 'white space'],
    ['https://host/feed\n', 'control character'],
    ['https://host/\u009f', 'control character'],
    ['https://host/\0', 'NUL'],
    ['https://host/\ud800', 'Unicode'],
    [`https://host/${'x'.repeat(4_096)}`, 'longer than 4096'],
  ])('says what else is wrong: %j %s', (url, words) =>
    expect(faultInHttpUrl(url)).toContain(words),
  );

  it('returns the same for a URL after any number of other URLs', () => {
    // V8 compiles the path after many calls, which changes the results of URL.canParse of Node 20.
    for (let n = 0; n < 100_000; n++) faultInHttpUrl(`https://xn--nxasmq6b.example/${n}`);
    for (const url of ['https://ä.example/ü', 'https://a€.example/€', 'https://a.example/?ü'])
      expect([url, faultInHttpUrl(url)]).toEqual([url, undefined]);
    expect(faultInHttpUrl('https://ä:x/')).toBe('The URL has no valid host');
  });

  it('counts bytes of UTF-8', () => {
    const url = `https://host/😀${'ä'.repeat(2_039)}`;
    expect(faultInHttpUrl(`${url}x`)).toBeUndefined();
    expect(faultInHttpUrl(`${url}ä`)).toBe('The URL is longer than 4096 bytes');
  });
});

describe('faultInSpacedUrl', () => {
  it.each(['https://host/a b.mp3', 'https://host/a\u00a0b', 'https://host/?q=a b'])(
    'keeps spaces: %j',
    (url) => expect(faultInSpacedUrl(url)).toBeUndefined(),
  );

  it.each([
    ['https://ho st/feed', 'no valid host'],
    ['https://host/a\tb', 'control character'],
    ['https://host/a\nb', 'control character'],
    ['https://host/\ud800', 'Unicode'],
    ['host/a b', noProtocol],
  ])('finds every other fault: %j %s', (url, words) =>
    expect(faultInSpacedUrl(url)).toContain(words),
  );
});

describe('faultInText', () => {
  it('accepts any text without NUL and lone surrogates up to the limit, in bytes of UTF-8', () => {
    expect(faultInText('ä 😀\n', 8)).toBeUndefined();
    expect(faultInText('ä 😀\n', 7)).toBe('is longer than 7 bytes');
  });
});

describe('normalizedUrl', () => {
  it.each([
    ['HTTPS://Feeds.example.com:443/%7Ea', 'https://feeds.example.com/~a'],
    ['http://a.example:443', 'http://a.example:443/'],
    ['https://a.example/x%3ay?q=%c3%a4', 'https://a.example/x%3Ay?q=%C3%A4'],
    ['https://a.example/b/../c/./d', 'https://a.example/c/d'],
    ['https://a.example/\u00e4 b', 'https://a.example/%C3%A4%20b'],
    [' https://a.example/Path/?B=%41 ', 'https://a.example/Path/?B=A'],
    ['https://a.example/%2F%00', 'https://a.example/%2F%00'],
    // Versions of the URL Standard encode these differently.
    [
      'https://a.example/^|`{}?^|`{}#^|{}',
      'https://a.example/%5E%7C%60%7B%7D?%5E%7C%60%7B%7D#%5E%7C%7B%7D',
    ],
    ['http://0x7f.1/a', 'http://127.0.0.1/a'],
    ['no URL', 'no URL'],
  ])('of %j is %s', (url, normalized) => {
    expect(normalizedUrl(url)).toBe(normalized);
    expect(normalizedUrl(normalized)).toBe(normalized);
  });

  it('is the URL or its URL Standard form with normal codes, and is stable', () => {
    const options = { withQueryParameters: true, withFragments: true };
    fc.assert(
      fc.property(fc.webUrl(options), (url) => {
        const normalized = normalizedUrl(url);
        expect(normalizedUrl(normalized)).toBe(normalized);
        expect(new URL(normalized).host).toBe(new URL(url).host);
      }),
    );
  });
});

describe('equal URLs', () => {
  it.each(inBothOrders([...equalUrls, ...decodedUrls]))('are %s and %s', (one, other) => {
    expect(areEqualUrls(one, other)).toBe(true);
  });

  it.each(inBothOrders(differentUrls))('are not %s and %s', (one, other) => {
    expect(areEqualUrls(one, other)).toBe(false);
  });

  it.each([
    ['http://a.example/f', 'https://a.example/f'],
    ['https://a.example/f/', 'https://a.example/f'],
  ])('are not %s and %s, which are alike', (one, other) => {
    expect([areEqualUrls(one, other), areAlikeUrls(one, other)]).toEqual([false, true]);
  });

  it('have a form that Postgres can store, also with NUL and invalid UTF-8', () => {
    expect(comparableUrl('https://a.example/%00%41%FF%C3%A4')).toBe(
      'https://a.example/%00A%FF%C3%A4',
    );
  });

  it('are a URL and every form of its characters', () => {
    const coded = (text: string) =>
      [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const part = fc.tuple(fc.stringMatching(/^[\w~.\u00e4-]{1,8}$/), fc.boolean());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const path = (of: (text: string) => string) =>
          parts.map(([text, isCoded]) => `x${isCoded ? of(text) : text}`).join('/');
        const [plain, encoded] = [path((text) => text), path(coded)];
        expect(areEqualUrls(`https://a.example/${plain}`, `HTTPS://A.example/${encoded}`)).toBe(
          true,
        );
      }),
    );
  });
});
