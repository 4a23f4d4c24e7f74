import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feedHost, feedName, feedUrlOf, isSameFeed, searchKey } from './feed-name.js';

describe('searchKey', () => {
  it.each([
    ['CAFÉ', 'cafe'],
    ['Über', 'uber'],
    ['ﬁn', 'fin'],
    ['Я', 'я'],
  ])('ignores case and accents: %s as %s', (name, key) =>
    expect(searchKey(name)).toBe(searchKey(key)),
  );
});

describe('feedName and feedHost', () => {
  it.each([
    ['https://podnews.net/rss', 'podnews.net/rss', 'podnews.net'],
    ['https://www.example.org/', 'example.org', 'example.org'],
    [
      'http://ann:secret@example.org:8080/feed?a=b',
      'example.org:8080/feed?a=b',
      'example.org:8080',
    ],
    ['https://example.org', 'example.org', 'example.org'],
    ['not a URL', 'not a URL', 'not a URL'],
  ])('omit scheme, www and password: %s', (url, name, host) => {
    expect([feedName(url), feedHost(url)]).toEqual([name, host]);
  });

  it('start with the host of any URL', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const host = new URL(url).host.replace(/^www\./, '');
        expect(feedHost(url).toLowerCase()).toBe(host);
        expect(feedName(url).toLowerCase().startsWith(host)).toBe(true);
      }),
    );
  });
});

describe('feedUrlOf', () => {
  it.each([
    '',
    ' ',
    'example',
    'localhost:3000/feed',
    'not an address.',
    'mailto:ann@example.org',
    'ftp://example.org/',
    'javascript:alert(1)',
    'https://',
    'https:// a.example',
    'http:///a',
    'https://a.example/a b',
  ])('returns undefined for "%s"', (typed) => expect(feedUrlOf(typed)).toBeUndefined());

  it.each([
    ['example.org', 'https://example.org'],
    ['example.org:8080/feed?a=b', 'https://example.org:8080/feed?a=b'],
    ['feed://example.org/feed', 'https://example.org/feed'],
    ['feed:https://example.org/feed', 'https://example.org/feed'],
    ['feed:http://example.org/feed', 'http://example.org/feed'],
    ['ITPC://example.org/feed', 'https://example.org/feed'],
    ['pcast://example.org/feed', 'https://example.org/feed'],
  ])('completes %s', (typed, url) => expect(feedUrlOf(typed)).toBe(url));

  it('trims white space around a URL', () => {
    expect(feedUrlOf('  https://example.org/a?c=%20 \n')).toBe('https://example.org/a?c=%20');
  });
});

describe('isSameFeed', () => {
  const url = 'https://example.org/feed';
  it.each([
    ['http://example.org/feed', true],
    ['HTTPS://example.org/feed/', true],
    ['https://ann:secret@example.org/feed', false],
    ['https://www.example.org/feed', false],
    ['https://example.org/feed?premium', false],
  ])(`compares ${url} with %s: %j`, (other, isSame) => expect(isSameFeed(url, other)).toBe(isSame));
});
