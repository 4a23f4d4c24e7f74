/** A feed that a list of another app names. */
export interface OpmlFeed {
  readonly feedUrl: string;
  /** As the list calls it; may be anything. */
  readonly title: string;
}

/** Bytes of a file at most. */
export const largestFile = 10_000_000;

/** A text as what DOMParser takes: the one place of the console where a text becomes a document, and that is only looked at. */
const trust = (text: string): string => {
  const policies = (
    globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createHTML(text: string): string } } }
  ).trustedTypes;
  policy ??= policies?.createPolicy('podcast-sync', { createHTML: (same: string) => same }) ?? {
    createHTML: (same) => same,
  };
  return policy.createHTML(text);
};
let policy: { createHTML(text: string): string } | undefined;

/**
 * The feeds of an OPML document, each once, in its order: of outlines at any depth, whatever case their attributes are in.
 *
 * @returns undefined where it is no OPML.
 */
export function parseOpml(text: string): OpmlFeed[] | undefined {
  const xml = new DOMParser().parseFromString(trust(text.replace(/^\uFEFF/, '')), 'text/xml');
  if (xml.documentElement.localName.toLowerCase() !== 'opml' || xml.getElementsByTagName('parsererror').length > 0)
    return undefined;
  const feeds = new Map<string, OpmlFeed>();
  for (const outline of xml.getElementsByTagNameNS('*', '*')) {
    if (outline.localName.toLowerCase() !== 'outline') continue;
    const named = new Map([...outline.attributes].map(({ name, value }) => [name.toLowerCase(), value.trim()]));
    const feedUrl = named.get('xmlurl') ?? '';
    if (feedUrl === '' || feeds.has(feedUrl)) continue;
    feeds.set(feedUrl, { feedUrl, title: named.get('title') || named.get('text') || '' });
  }
  return [...feeds.values()];
}
