import { describe, expect, it } from 'vitest';
import { faultInHttpUrl, faultInSpacedUrl, faultInText, noProtocol } from './feed.url.js';

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
