import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { areAlikeUrls, faultInHttpUrl, faultInSpacedUrl } from '#contracts';
import { repairEnclosureUrl, repairFeedUrl, UrlUpdates } from './url.repair.js';

describe('the URL of a feed', () => {
  it.each([
    [
      'stays as it was sent',
      'HTTPS://User:pw@Example.com/Feed?a=%20b#c',
      'HTTPS://User:pw@Example.com/Feed?a=%20b#c',
    ],
    ['loses white space around it', ' \thttps://a.example/f\r\n', 'https://a.example/f'],
    [
      'has %20 for white space in it',
      'https://a.example/my feed\t1',
      'https://a.example/my%20feed%091'.replace('%09', '%20'),
    ],
    ['gets http where a host has none', 'a.example/f', 'http://a.example/f'],
    ['gets http where a host has a port', 'a.example:8080/f', 'http://a.example:8080/f'],
    ['gets http where a host is beyond ASCII', 'müller.example/f', 'http://müller.example/f'],
    [
      'gets http where a host is of another script',
      'उदाहरण.परीक्षा:8080',
      'http://उदाहरण.परीक्षा:8080',
    ],
    ['gets http where there is a host alone', 'a.example', 'http://a.example'],
    ['gets http before a query', 'a.example?feed=rss', 'http://a.example?feed=rss'],
    ['of feed: is that of http', 'feed://a.example/f', 'http://a.example/f'],
    ['of feed: without slashes too', 'feed:a.example/f', 'http://a.example/f'],
    ['of feed: before a whole one is that', 'feed:https://a.example/f', 'https://a.example/f'],
    ['of feed:// before a whole one too', 'FEED://https://a.example/f', 'https://a.example/f'],
    ['of itpc: is that of http', 'itpc://a.example/f', 'http://a.example/f'],
    ['of itms: is that of http', 'itms://a.example/f', 'http://a.example/f'],
    ['of pcast: is that of http', 'pcast:a.example/f', 'http://a.example/f'],
    ['of pcast: before one without a colon', 'pcast://https//a.example/f', 'https://a.example/f'],
    ['of feed: before one without a slash', 'feed:http:/a.example/f', 'http://a.example/f'],
    ['gets a colon that is missing', 'https//a.example/f', 'https://a.example/f'],
    ['of pcast: with white space', ' pcast:a.example/a b ', 'http://a.example/a%20b'],
  ])('%s', (_, sent, used) => expect(repairFeedUrl(sent)).toBe(used));

  it.each([
    '',
    ' ',
    'x',
    'antennapod_local:/storage/x',
    'content://com.android.x/tree',
    'ftp://a.example/f',
    'file:///a.example/f',
    'fb:name',
    'localhost/f',
    'feed:',
    'feed:ftp://a.example/f',
    'https://',
    'https:///f',
    'https://a.example/\0',
    'https://a.example/\u0001',
    'https://a.example/\ud800',
    `https://a.example/${'x'.repeat(4_080)}`,
    ' '.repeat(10_000_000),
    'a.'.repeat(5_000_000),
  ])('that can not be used is none', (sent) => expect(repairFeedUrl(sent)).toBeUndefined());

  it('is one that the services take, whatever was sent, and repaired again it is the same', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc
        .tuple(
          fc.constantFrom(
            '',
            ' ',
            'feed:',
            'itpc://',
            'pcast:',
            'itms://',
            'feed:feed:',
            'https:/',
            '//',
          ),
          fc.webUrl().map((url) => url.replace('https://', '')),
          fc.string({ unit: fc.constantFrom(' ', '%', '\t', 'é', '\0', '/'), maxLength: 4 }),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (sent) => {
        const used = repairFeedUrl(sent);
        if (used === undefined) return;
        expect(faultInHttpUrl(used)).toBeUndefined();
        expect(repairFeedUrl(used)).toBe(used);
      }),
    );
  });

  it('that the services take as it is is not touched', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        fc.pre(faultInHttpUrl(url) === undefined);
        expect(repairFeedUrl(url)).toBe(url);
      }),
    );
  });
});

describe('the URL of an enclosure', () => {
  it.each([
    [' https://a.example/1.mp3\n', 'https://a.example/1.mp3'],
    ['https://a.example/one two.mp3', 'https://a.example/one two.mp3'],
    ['a.example/1.mp3', undefined],
    ['content://x/1', undefined],
    ['', undefined],
    ['x'.repeat(10_000_000), undefined],
  ])('is only trimmed (%#)', (sent, used) => expect(repairEnclosureUrl(sent)).toBe(used));

  it('is one that the services take', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), (sent) => {
        const used = repairEnclosureUrl(sent);
        expect(used === undefined ? undefined : faultInSpacedUrl(used)).toBeUndefined();
      }),
    );
  });
});

describe('update_urls', () => {
  it('has each pair that differs once, and an empty one for what can not be used', () => {
    const updates = new UrlUpdates();
    for (const _ of [1, 2]) {
      updates.repaired('https://a.example/f', 'https://a.example/f');
      updates.repaired('b.example/f', 'http://b.example/f');
      updates.repaired('antennapod_local:x', undefined);
    }
    expect(updates.pairs).toEqual([
      ['b.example/f', 'http://b.example/f'],
      ['antennapod_local:x', ''],
    ]);
  });

  it('has the current URL for a former one, also where that was repaired first', () => {
    const updates = new UrlUpdates();
    updates.repaired('old.example/f', 'http://old.example/f');
    updates.moved('old.example/f', 'http://old.example/f', 'https://new.example/f');
    expect(updates.pairs).toEqual([['old.example/f', 'https://new.example/f']]);
  });

  it.each([
    ['http://a.example/f', 'https://a.example/f'],
    ['https://a.example/f/', 'https://a.example/f'],
    ['HTTP://a.example/f//', 'https://a.example/f'],
  ])('leaves out a move that is no more than a scheme or slashes: %s to %s', (used, current) => {
    const updates = new UrlUpdates();
    updates.moved(used, used, current);
    expect(updates.pairs).toEqual([]);
    expect(areAlikeUrls(used, `${current}x`)).toBe(false);
  });
});
