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

/** Returns the typed or pasted URL of a feed; `undefined` for one that the server rejects. */
export function feedUrlOf(typed: string): string | undefined {
  const url = typed.trim();
  return faultInHttpUrl(url) === undefined ? url : undefined;
}
