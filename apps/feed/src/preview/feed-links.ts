import { Parser } from 'htmlparser2';
import { faultInHttpUrl, type FeedPreview, parseUrl } from '#contracts';
import { lineOf } from '../document/feed-values.js';

/** Maximum number of returned feeds, and maximum depth of nested elements. */
const [maxAlternates, maxDepth] = [5, 256];

/** Ends the parser at a page with too many nested elements. */
class TooDeepError extends Error {}

const feedMediaType = /^(?:application|text)\/(?:rss\+xml|atom\+xml|xml)\b/i;

/**
 * Returns the first five feeds to which an HTML page links as its alternates (HTML, 4.6.7.1). The
 * rest of a page is ignored after an element at a depth of more than 256, because the parser takes
 * quadratic time for deep nesting.
 *
 * @param url the URL of the page, to which links are relative.
 */
export function alternatesOf(html: string, url: string): NonNullable<FeedPreview['alternates']> {
  const titlesByUrl = new Map<string, string | undefined>();
  let depth = 0;
  const parser = new Parser({
    onopentagname() {
      if (++depth > maxDepth) throw new TooDeepError();
    },
    onclosetag() {
      depth -= 1;
    },
    onopentag(name, { rel = '', type = '', href = '', title = '' }) {
      if (name !== 'link' || titlesByUrl.size === maxAlternates) return;
      if (!/\balternate\b/i.test(rel) || !feedMediaType.test(type)) return;
      const target = parseUrl(href, url)?.href;
      if (target !== undefined && faultInHttpUrl(target) === undefined && !titlesByUrl.has(target))
        titlesByUrl.set(target, lineOf(title));
    },
  });
  try {
    parser.end(html);
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
  }
  return [...titlesByUrl].map(([feedUrl, title]) => ({ feed_url: feedUrl, title }));
}
