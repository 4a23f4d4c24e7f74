import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feedHost, feedName, feedUrlOf, podcastName, searchForm } from './feed.js';

describe('the name of a podcast', () => {
  it("is the listener's title, else the host", () => {
    const feedUrl = 'https://podnews.net/rss';
    expect(podcastName({ title: 'Podnews', feedUrl })).toBe('Podnews');
    expect(podcastName({ title: '', feedUrl })).toBe('podnews.net');
  });

  it.each([
    ['CAFÉ', 'cafe'],
    ['Über', 'uber'],
    ['ﬁn', 'fin'],
    ['Я', 'я'],
  ])('is found without case and accents: %s as %s', (name, sought) =>
    expect(searchForm(name)).toBe(searchForm(sought)),
  );
});

describe('the name of a feed', () => {
  it.each([
    ['https://podnews.net/rss', 'podnews.net/rss', 'podnews.net'],
    ['https://www.example.org/', 'example.org', 'example.org'],
    [
      'http://ann:secret@example.org:8080/feed?a=b',
      'example.org:8080/feed?a=b',
      'example.org:8080',
    ],
    ['https://example.org', 'example.org', 'example.org'],
    ['what is none', 'what is none', 'what is none'],
  ])(
    'is its host and path, without what is always the same and without a password: %s',
    (url, name, host) => {
      expect([feedName(url), feedHost(url)]).toEqual([name, host]);
    },
  );

  it('is of its host alone, whatever stands behind that', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const host = new URL(url).host.replace(/^www\./, '');
        expect(feedHost(url).toLowerCase()).toBe(host);
        expect(feedName(url).toLowerCase().startsWith(host)).toBe(true);
      }),
    );
  });
});

describe('what was typed', () => {
  it.each([
    '',
    ' ',
    'example.org',
    'ftp://example.org/',
    'javascript:alert(1)',
    'https://',
    'https:// a.example',
    'http:///a',
    'https://a.example/a b',
  ])('is no address of a feed: "%s"', (typed) => expect(feedUrlOf(typed)).toBeUndefined());

  it('is one without the white space around it', () => {
    expect(feedUrlOf('  https://example.org/a?c=%20 \n')).toBe('https://example.org/a?c=%20');
  });
});
