/** The first line of an XML document. */
export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Text before and after the outlines of an OPML document (opml.org/spec2.opml). */
export const opmlStart = `${xmlDeclaration}<opml version="2.0">
<head><title>Subscriptions</title></head>
<body>
`;
export const opmlEnd = '</body>\n</opml>\n';

/**
 * Returns the outline of a feed. Both `text`, which OPML requires, and `title`, which apps show,
 * are the title of the feed, else its URL.
 */
export function opmlOutline(url: string, title?: string | null): string {
  const [text, xmlUrl] = [escapeXml(title ?? url), escapeXml(url)];
  return `<outline type="rss" text="${text}" title="${text}" xmlUrl="${xmlUrl}"/>\n`;
}

/** Returns an OPML document with these feeds. @param titles titles in the order of the URLs. */
export function writeOpml(
  urls: readonly string[],
  titles: readonly (string | null | undefined)[] = [],
): string {
  const outlines = urls.map((url, index) => opmlOutline(url, titles[index]));
  return `${opmlStart}${outlines.join('')}${opmlEnd}`;
}

/** Characters that XML 1.0 forbids, also as character references (2.2). */
// oxlint-disable-next-line no-control-regex
const forbiddenCharacters = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

/**
 * Escapes a text for an attribute or the content of an element. Also escapes white space, which
 * readers would turn into spaces (XML 1.0, 3.3.3), and removes forbidden characters.
 */
export function escapeXml(text: string): string {
  return text
    .replace(forbiddenCharacters, '')
    .replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
