/** A list as podcast apps export it, in folders. */
export function opmlOf(feeds: readonly string[]): string {
  const outlines = feeds.map(
    (url, at) => `<outline type="rss" text="Podcast ${at}" xmlUrl="${escaped(url)}"/>`,
  );
  const half = Math.ceil(outlines.length / 2);
  const folder = (some: readonly string[]) =>
    `<outline text="A folder">${some.join('\n')}</outline>`;
  return `<?xml version="1.0" encoding="utf-8"?>
<opml version="2.0"><head><title>Podcasts</title></head>
<body>${folder(outlines.slice(0, half))}${folder(outlines.slice(half))}</body></opml>`;
}

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Returns the feeds of a list in any encoding of its characters. */
export function feedsOf(opml: string): string[] {
  const plain = (text: string) =>
    text.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, code: string | undefined, name = '') =>
      code === undefined ? (named[name as string] ?? '') : String.fromCodePoint(Number(code)),
    );
  return [...opml.matchAll(/xmlUrl="([^"]*)"/gi)].map(([, url = '']) => plain(url));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
