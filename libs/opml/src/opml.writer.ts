/** The first line of a document of XML. */
export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** What stands before and behind the outlines of an OPML document (opml.org/spec2.opml). */
export const opmlStart = `${xmlDeclaration}<opml version="2.0">\n<head><title>Subscriptions</title></head>\n<body>\n`;
export const opmlEnd = '</body>\n</opml>\n';

/** The outline of one feed. Its name is its URL, as no other is kept; the format requires `text`, and apps show `title`. */
export function opmlOutline(url: string): string {
  const text = escaped(url);
  return `<outline type="rss" text="${text}" title="${text}" xmlUrl="${text}"/>\n`;
}

/** A whole document of these feeds. */
export function writeOpml(urls: readonly string[]): string {
  return `${opmlStart}${urls.map((url) => opmlOutline(url)).join('')}${opmlEnd}`;
}

/** Characters that no document of XML 1.0 may have, not even by their numbers (2.2). */
// oxlint-disable-next-line no-control-regex
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

/**
 * A text as an attribute or the content of an element has it: what stands for something else by its number, white space
 * too, as a reader makes plain spaces of it (XML 1.0, 3.3.3). What XML has no way to say is left out.
 */
export function escaped(text: string): string {
  return text.replace(forbidden, '').replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
