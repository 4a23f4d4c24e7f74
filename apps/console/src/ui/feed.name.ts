import { faultInHttpUrl } from '#client';

/** Matches a feed URL: its host without `www.` and credentials, and the rest. */
const hostAndPath = /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)([^]*)$/i;

/** Returns a text for comparisons in a search: without case, accents and compatibility forms. */
export function searchKey(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();
}

/** Returns the name of a feed without a title: host and path of its URL. */
export function feedName(feedUrl: string): string {
  const [, host = feedUrl, path = ''] = hostAndPath.exec(feedUrl) ?? [];
  return path.length > 1 ? `${host}${path.replace(/\/$/, '')}` : host;
}

/** Returns the host of a feed URL. */
export function feedHost(feedUrl: string): string {
  return hostAndPath.exec(feedUrl)?.[1] ?? feedUrl;
}

/** Matches the schemes by which pages and apps link feeds. */
const feedScheme = /^(?:feed|itpc|pcast):(?:\/\/)?/i;
/** Matches a URL without a scheme: a host with a dot, and the rest. */
const schemeless = /^[^\s/:?#.]+\.[^\s/:?#]+(?:[/:?#]|$)/;

/** Returns the typed or pasted URL of a feed; `undefined` for one that the server rejects. */
export function feedUrlOf(typed: string): string | undefined {
  const text = typed.trim();
  const rest = text.replace(feedScheme, '');
  const url = schemeless.test(rest) ? `https://${rest}` : rest;
  return faultInHttpUrl(url) === undefined ? url : undefined;
}
