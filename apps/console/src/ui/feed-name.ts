import { faultInHttpUrl } from '#client';

/** Matches a feed URL. Groups: host without `www.` and credentials; path, query and fragment. */
const hostAndPathPattern = /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)([^]*)$/i;

/** Returns a text for comparison in searches: without case, accents and compatibility forms. */
export function searchKey(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();
}

/** Returns a name for a feed without a title: the host without `www.` and the path of its URL. */
export function feedName(feedUrl: string): string {
  const [, host = feedUrl, path = ''] = hostAndPathPattern.exec(feedUrl) ?? [];
  return path.length > 1 ? `${host}${path.replace(/\/$/, '')}` : host;
}

/** Returns the host of a feed URL without `www.`, or the whole text if it is no URL. */
export function feedHost(feedUrl: string): string {
  return hostAndPathPattern.exec(feedUrl)?.[1] ?? feedUrl;
}

/** Returns true if two feed URLs differ at most in scheme and trailing slash. */
export function isSameFeed(one: string, other: string): boolean {
  return removeSchemeAndSlash(one) === removeSchemeAndSlash(other);
}

const removeSchemeAndSlash = (url: string) => url.replace(/^https?:\/\//i, '').replace(/\/$/, '');

/** Matches the schemes that mark a link to a feed on web pages and in apps. */
const feedSchemePattern = /^(?:feed|itpc|pcast):(?:\/\/)?/i;
/** Matches a URL that has no scheme and starts with a host name that contains a dot. */
const schemelessUrlPattern = /^[^\s/:?#.]+\.[^\s/:?#]+(?:[/:?#]|$)/;

/**
 * Returns the feed URL of a typed or pasted text, with `https://` if the text has no scheme.
 * Returns `undefined` for an invalid URL.
 */
export function feedUrlOf(typed: string): string | undefined {
  const trimmed = typed.trim();
  const withoutFeedScheme = trimmed.replace(feedSchemePattern, '');
  const url = schemelessUrlPattern.test(withoutFeedScheme)
    ? `https://${withoutFeedScheme}`
    : withoutFeedScheme;
  return faultInHttpUrl(url) === undefined ? url : undefined;
}
