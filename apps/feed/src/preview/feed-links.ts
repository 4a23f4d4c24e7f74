import { Parser } from 'htmlparser2';
import { faultInHttpUrl, type FeedPreview } from '#contracts';
import { lineOf } from '../document/feed-values.js';

/** Maximum number of returned feeds. */
const maxAlternates = 5;

const feedType = /^(?:application|text)\/(?:rss\+xml|atom\+xml|xml)\b/i;

/**
 * Returns the first five feeds to which an HTML page links as its alternates (HTML, 4.6.7.1).
 *
 * @param url the URL of the page, to which links are relative.
 */
export function alternatesOf(html: string, url: string): NonNullable<FeedPreview['alternates']> {
  const found = new Map<string, string | undefined>();
  const parser = new Parser({
    onopentag(name, { rel = '', type = '', href = '', title = '' }) {
      if (name !== 'link' || found.size === maxAlternates) return;
      if (!/\balternate\b/i.test(rel) || !feedType.test(type) || !URL.canParse(href, url)) return;
      const target = new URL(href, url).href;
      if (faultInHttpUrl(target) === undefined && !found.has(target))
        found.set(target, lineOf(title));
    },
  });
  parser.end(html);
  return [...found].map(([feedUrl, title]) => ({ feed_url: feedUrl, title }));
}
