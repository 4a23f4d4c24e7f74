/** Returns an OPML document of the feeds in folders, as podcast apps export it. */
export function opmlOf(feeds: readonly string[]): string {
  const outlines = feeds.map(
    (url, at) => `<outline type="rss" text="Podcast ${at}" xmlUrl="${escaped(url)}"/>`,
  );
  const half = Math.ceil(outlines.length / 2);
  const folder = (items: readonly string[]) =>
    `<outline text="A folder">${items.join('\n')}</outline>`;
  return `<?xml version="1.0" encoding="utf-8"?>
<opml version="2.0"><head><title>Podcasts</title></head>
<body>${folder(outlines.slice(0, half))}${folder(outlines.slice(half))}</body></opml>`;
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Returns the feed URLs of an OPML document, with any escapes of XML. */
export function feedsOf(opml: string): string[] {
  const unescaped = (text: string) =>
    text.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, code: string | undefined, name = '') =>
      code === undefined ? (entities[name as string] ?? '') : String.fromCodePoint(Number(code)),
    );
  return [...opml.matchAll(/xmlUrl="([^"]*)"/gi)].map(([, url = '']) => unescaped(url));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
