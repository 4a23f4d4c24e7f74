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
});
