import { faultInHttpUrl } from '#client';

/** Matches a feed URL. Groups: host without `www.` and credentials; path, query and fragment. */
const hostAndPathPattern = /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)([^]*)$/i;

/** Returns a text for comparisons in a search: without case, accents and compatibility forms. */
export function searchKey(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();
}

/** Returns the name of a feed without a title: host and path of its URL. */
export function feedName(feedUrl: string): string {
  const [, host = feedUrl, path = ''] = hostAndPathPattern.exec(feedUrl) ?? [];
  return path.length > 1 ? `${host}${path.replace(/\/$/, '')}` : host;
}

/** Returns the host of a feed URL. */
export function feedHost(feedUrl: string): string {
  return hostAndPathPattern.exec(feedUrl)?.[1] ?? feedUrl;
}

/** Returns true if two feed URLs differ at most in scheme and trailing slash. */
export function isSameFeed(one: string, other: string): boolean {
  return withoutScheme(one) === withoutScheme(other);
}

const withoutScheme = (url: string) => url.replace(/^https?:\/\//i, '').replace(/\/$/, '');

/** Matches the schemes by which pages and apps link feeds. */
const feedSchemePattern = /^(?:feed|itpc|pcast):(?:\/\/)?/i;
/** Matches a URL without a scheme, which starts with a host name that contains a dot. */
const schemelessUrlPattern = /^[^\s/:?#.]+\.[^\s/:?#]+(?:[/:?#]|$)/;

/**
 * Returns the feed URL of a typed or pasted text, with `https://` if the text has no scheme.
 * Returns `undefined` for an invalid URL.
 */
export function feedUrlOf(typed: string): string | undefined {
  const text = typed.trim();
  const rest = text.replace(feedSchemePattern, '');
  const url = schemelessUrlPattern.test(rest) ? `https://${rest}` : rest;
  return faultInHttpUrl(url) === undefined ? url : undefined;
}
