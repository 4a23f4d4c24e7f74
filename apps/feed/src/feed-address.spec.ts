import { describe, expect, it } from 'vitest';
import { isPrivate, laneOf } from './feed-address.js';

describe('laneOf', () => {
  it.each([
    ['https://Feeds.Example.org:443/a', 'feeds.example.org'],
    ['http://example.org./a', 'example.org'],
    ['https://one.libsyn.com/rss', 'libsyn.com'],
    ['https://libsyn.com/rss', 'libsyn.com'],
    ['https://notlibsyn.com/rss', 'notlibsyn.com'],
    ['http://[::1]/', '[::1]'],
  ])('%s has the lane %s', (url, lane) => expect(laneOf(url)).toBe(lane));
});

describe('isPrivate', () => {
  it.each([
    'https://name:password@example.org/feed',
    'https://name@example.org/feed',
    'https://www.patreon.com/rss/show?auth=x',
    'https://a.supercast.com/feeds/x',
    'https://a.supportingcast.fm/content/eyJ.rss',
    'https://api.substack.com/feed/podcast/12/private/x.rss',
    'https://a.memberfulcontent.com/rss/1?auth=x',
    'https://subscribers.transistor.fm/x',
    'https://private.captivate.fm/x',
    'https://a.castos.com/feed?uuid=x',
    'https://access.acast.com/rss/x',
    'https://feeds.redcircle.com/x/pf/y',
    'https://feeds.npr.org/1/podcast.xml?uid=x',
    'https://my.slate.com/subscriptions/x',
    'https://feed.pod.co/0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11/0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c12',
    'https://rss.stratechery.com/x',
    'https://example.org/feed?token=0123456789ab',
    'https://example.org/feed?access_token=0123456789ab',
  ])('%s', (url) => expect(isPrivate(url)).toBe(true));

  it.each([
    'https://example.org/feed',
    'https://www.patreon.com/show',
    'https://a.substack.com/feed',
    'https://feeds.acast.com/public/shows/0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11',
    'https://omny.fm/shows/x/playlists/0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11/podcast.rss',
    'https://example.org/feed?key=podcast',
    'https://example.org/feed?monkey=0123456789ab',
    'https://example.org/feed?utm_source=0123456789ab',
  ])('not %s', (url) => expect(isPrivate(url)).toBe(false));
});
