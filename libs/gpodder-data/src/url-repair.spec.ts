import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { areAlikeUrls, faultInHttpUrl, faultInSpacedUrl } from '#contracts';
import { repairEnclosureUrl, repairFeedUrl, UrlUpdates } from './url-repair.js';

describe('repairFeedUrl', () => {
  it.each([
    [
      'keeps a valid URL',
      'HTTPS://User:pw@Example.com/Feed?a=%20b#c',
      'HTTPS://User:pw@Example.com/Feed?a=%20b#c',
    ],
    ['trims white space', ' \thttps://a.example/f\r\n', 'https://a.example/f'],
    [
      'replaces inner white space by %20',
      'https://a.example/my feed\t1',
      'https://a.example/my%20feed%201',
    ],
    ['adds http to a host without scheme', 'a.example/f', 'http://a.example/f'],
    ['adds http to a host with a port', 'a.example:8080/f', 'http://a.example:8080/f'],
    ['adds http to a host that is not ASCII', 'müller.example/f', 'http://müller.example/f'],
    ['adds http to a host in another script', 'उदाहरण.परीक्षा:8080', 'http://उदाहरण.परीक्षा:8080'],
    ['adds http to a host alone', 'a.example', 'http://a.example'],
    ['adds http to a host with a query', 'a.example?feed=rss', 'http://a.example?feed=rss'],
    ['replaces feed:// by http', 'feed://a.example/f', 'http://a.example/f'],
    ['replaces feed: without slashes', 'feed:a.example/f', 'http://a.example/f'],
    ['removes feed: in front of a URL', 'feed:https://a.example/f', 'https://a.example/f'],
    ['removes feed:// in front of a URL', 'FEED://https://a.example/f', 'https://a.example/f'],
    ['replaces itpc:// by http', 'itpc://a.example/f', 'http://a.example/f'],
    ['replaces itms:// by http', 'itms://a.example/f', 'http://a.example/f'],
    ['replaces pcast: by http', 'pcast:a.example/f', 'http://a.example/f'],
    [
      'removes pcast:// in front of https without a colon',
      'pcast://https//a.example/f',
      'https://a.example/f',
    ],
    [
      'removes feed: in front of http without a slash',
      'feed:http:/a.example/f',
      'http://a.example/f',
    ],
    ['adds a missing colon', 'https//a.example/f', 'https://a.example/f'],
    ['removes http:// in front of a URL', 'http://https://a.example/f', 'https://a.example/f'],
    ['removes it without a colon behind it', 'http://https//a.example/f', 'https://a.example/f'],
    ['removes it several times', 'http//http:/http://a.example/f', 'http://a.example/f'],
    ['keeps a host with the name of a scheme', 'http://https/f', 'http://https/f'],
    ['replaces pcast: with white space', ' pcast:a.example/a b ', 'http://a.example/a%20b'],
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
  ])('returns undefined for an unusable URL', (sent) =>
    expect(repairFeedUrl(sent)).toBeUndefined(),
  );

  it('returns a valid URL for any text, and is idempotent', () => {
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

  it('returns a valid URL unchanged', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        fc.pre(faultInHttpUrl(url) === undefined);
        expect(repairFeedUrl(url)).toBe(url);
      }),
    );
  });
});

describe('repairEnclosureUrl', () => {
  it.each([
    [' https://a.example/1.mp3\n', 'https://a.example/1.mp3'],
    ['https://a.example/one two.mp3', 'https://a.example/one two.mp3'],
    ['a.example/1.mp3', undefined],
    ['content://x/1', undefined],
    ['', undefined],
    ['x'.repeat(10_000_000), undefined],
  ])('trims only (%#)', (sent, used) => expect(repairEnclosureUrl(sent)).toBe(used));

  it('returns a valid URL for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), (sent) => {
        const used = repairEnclosureUrl(sent);
        expect(used === undefined ? undefined : faultInSpacedUrl(used)).toBeUndefined();
      }),
    );
  });
});

describe('UrlUpdates', () => {
  it('has each changed pair once, with an empty URL for an unusable one', () => {
    const updates = new UrlUpdates();
    for (const _ of [1, 2]) {
      updates.addRepaired('https://a.example/f', 'https://a.example/f');
      updates.addRepaired('b.example/f', 'http://b.example/f');
      updates.addRepaired('antennapod_local:x', undefined);
    }
    expect(updates.pairs).toEqual([
      ['b.example/f', 'http://b.example/f'],
      ['antennapod_local:x', ''],
    ]);
  });

  it('has the current URL for a former one, also if that was repaired', () => {
    const updates = new UrlUpdates();
    updates.addRepaired('old.example/f', 'http://old.example/f');
    updates.addMoved('old.example/f', 'http://old.example/f', 'https://new.example/f');
    expect(updates.pairs).toEqual([['old.example/f', 'https://new.example/f']]);
  });

  it.each([
    ['http://a.example/f', 'https://a.example/f'],
    ['https://a.example/f/', 'https://a.example/f'],
    ['HTTP://a.example/f//', 'https://a.example/f'],
  ])('omits a move that changes only scheme or trailing slashes: %s to %s', (used, current) => {
    const updates = new UrlUpdates();
    updates.addMoved(used, used, current);
    expect(updates.pairs).toEqual([]);
    expect(areAlikeUrls(used, `${current}x`)).toBe(false);
  });
});
