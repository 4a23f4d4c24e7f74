import { Parser } from 'htmlparser2';
import { faultInHttpUrl, type FeedPreview, parseUrl } from '#contracts';
import { lineOf } from '../document/feed-values.js';

/** Maximum number of returned feeds, and of nested elements. */
const [maxAlternates, maxDepth] = [5, 256];

/** Thrown to end the parser. */
class TooDeepError extends Error {}

const feedType = /^(?:application|text)\/(?:rss\+xml|atom\+xml|xml)\b/i;

/**
 * Returns the first five feeds to which an HTML page links as its alternates (HTML, 4.6.7.1). Reads
 * the page up to 256 nested elements: the parser takes quadratic time for deeply nested ones.
 *
 * @param url the URL of the page, to which links are relative.
 */
export function alternatesOf(html: string, url: string): NonNullable<FeedPreview['alternates']> {
  const found = new Map<string, string | undefined>();
  let depth = 0;
  const parser = new Parser({
    onopentagname() {
      if (++depth > maxDepth) throw new TooDeepError();
    },
    onclosetag() {
      depth -= 1;
    },
    onopentag(name, { rel = '', type = '', href = '', title = '' }) {
      if (name !== 'link' || found.size === maxAlternates) return;
      if (!/\balternate\b/i.test(rel) || !feedType.test(type)) return;
      const target = parseUrl(href, url)?.href;
      if (target !== undefined && faultInHttpUrl(target) === undefined && !found.has(target))
        found.set(target, lineOf(title));
    },
  });
  try {
    parser.end(html);
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
  }
  return [...found].map(([feedUrl, title]) => ({ feed_url: feedUrl, title }));
}
