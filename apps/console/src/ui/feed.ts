/** What a feed is called here, as the server keeps no titles: its host and the end of its path. */
export function feedName(feedUrl: string): string {
  const [, host = feedUrl, path = ''] = /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)([^]*)$/i.exec(feedUrl) ?? [];
  return path.length > 1 ? `${host}${path.replace(/\/$/, '')}` : host;
}

/** The host alone. */
export function feedHost(feedUrl: string): string {
  return /^https?:\/\/(?:[^/@?#]*@)?(?:www\.)?([^/?#]+)/i.exec(feedUrl)?.[1] ?? feedUrl;
}

/** The address of a feed as it was typed or pasted; `undefined` where it can be none. */
export function feedUrlOf(typed: string): string | undefined {
  const text = typed.trim();
  return /^https?:\/\/[^\s/]/i.test(text) && URL.canParse(text) ? text : undefined;
}
