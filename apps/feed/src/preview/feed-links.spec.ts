import { describe, expect, it } from 'vitest';
import { alternatesOf } from './feed-links.js';

const page = 'https://a.example/show/';
const link = (href: string, more = 'type="application/rss+xml"') =>
  `<link rel="alternate" ${more} href="${href}">`;

describe('alternatesOf', () => {
  it('returns the feeds of a page with their titles, each once', () => {
    const html = `<!doctype html><html><head><title>x</title>
      ${link('/feed', 'type="application/rss+xml" title="A &amp; B"')}
      ${link('other.atom', 'type="application/atom+xml; charset=utf-8"')}
      ${link('https://a.example/feed')}`;
    expect(alternatesOf(html, page)).toEqual([
      { feed_url: 'https://a.example/feed', title: 'A & B' },
      { feed_url: 'https://a.example/show/other.atom', title: undefined },
    ]);
  });

  it.each([
    ['a page in another language', link('/de', 'hreflang="de"')],
    ['a stylesheet', '<link rel="stylesheet" type="text/xml" href="/a">'],
    ['another scheme', link('javascript:alert(1)')],
    ['an invalid URL', link('https://')],
    ['a comment', `<!-- ${link('/feed')} -->`],
    ['no markup', 'text'],
  ])('ignores %s', (_, html) => expect(alternatesOf(html, page)).toEqual([]));

  it('returns at most five, in linear time', () => {
    const html = Array.from({ length: 20_000 }, (_, at) => link(`/${at}`)).join('');
    expect(alternatesOf(html, page)).toHaveLength(5);
  });

  it.each(['<b><p>', '<svg>', '<a>'])('reads nested elements in linear time: %s', (tags) => {
    const html = link('/feed') + tags.repeat(2 ** 20 / tags.length);
    const start = performance.now();
    expect(alternatesOf(html, page)).toHaveLength(1);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it.each(['<br>', '<p>', '<b></b>', '<svg><path/></svg>', '</p>'])(
    'reads many elements that are not nested: %s',
    (tags) => expect(alternatesOf(tags.repeat(1_000) + link('/feed'), page)).toHaveLength(1),
  );
});
