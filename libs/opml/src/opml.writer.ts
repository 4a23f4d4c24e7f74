/** The first line of an XML document. */
export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Text before and after the outlines of an OPML document (opml.org/spec2.opml). */
export const opmlStart = `${xmlDeclaration}<opml version="2.0">
<head><title>Subscriptions</title></head>
<body>
`;
export const opmlEnd = '</body>\n</opml>\n';

/**
 * Returns the outline of a feed. The format requires `text`, and apps show `title`.
 *
 * @param title default: the URL.
 */
export function opmlOutline(url: string, title = url): string {
  const [text, xmlUrl] = [escaped(title), escaped(url)];
  return `<outline type="rss" text="${text}" title="${text}" xmlUrl="${xmlUrl}"/>\n`;
}

/** Returns a whole document with the given feeds. */
export function writeOpml(
  urls: readonly string[],
  titleOf: (url: string) => string | undefined = () => undefined,
): string {
  return `${opmlStart}${urls.map((url) => opmlOutline(url, titleOf(url))).join('')}${opmlEnd}`;
}

/** Characters that XML 1.0 forbids, even as character references (2.2). */
// oxlint-disable-next-line no-control-regex
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

/**
 * Returns a text escaped for an attribute or the content of an element. White space is escaped,
 * too, because readers turn it into plain spaces (XML 1.0, 3.3.3). Forbidden characters are
 * removed.
 */
export function escaped(text: string): string {
  return text
    .replace(forbidden, '')
    .replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
