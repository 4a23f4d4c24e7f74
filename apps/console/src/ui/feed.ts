import { faultInHttpUrl } from '#client';

/** What a feed is called here, as the server keeps no titles: its host and the end of its path. */
export function feedName(feedUrl: string): string {
  const [, host = feedUrl, path = ''] = /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)([^]*)$/i.exec(feedUrl) ?? [];
  return path.length > 1 ? `${host}${path.replace(/\/$/, '')}` : host;
}

/** The host alone. */
export function feedHost(feedUrl: string): string {
  return /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)/i.exec(feedUrl)?.[1] ?? feedUrl;
}

/** Returns the address of a feed as it was typed or pasted; `undefined` for one that the server refuses. */
export function feedUrlOf(typed: string): string | undefined {
  const url = typed.trim();
  return faultInHttpUrl(url) === undefined ? url : undefined;
}
