import { type Outline, readOutlines } from '#opml';
import { type Opml, parseOpml } from 'feedsmith';

/** Outlines with an `xmlUrl` in one document at most. */
const mostFeeds = 5_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Encodings whose bytes are UTF-8. */
const readable = /^(utf-?8|us-ascii)$/i;
/** The encoding that an XML declaration names (XML 1.0, 4.3.3). */
const declared = /^<\?xml[^>]{0,200}\sencoding\s{0,20}=\s{0,20}["']([\w.-]{1,40})["']/;

/**
 * The `xmlUrl` of every outline of an OPML document, in its order; blank ones aside, as folders have them.
 *
 * feedsmith takes broken documents for whole ones, and reads some values in a way of its own. So it parses only what the
 * strict and bounded reader of outlines has found to be whole, and what the two read differently is refused.
 *
 * @returns `undefined` for what is no whole OPML document in UTF-8, has a DTD, or more feeds than {@link mostFeeds}.
 */
export function feedsOf(document: Uint8Array): string[] | undefined {
  const text = textOf(document);
  if (text === undefined) return undefined;
  const outlines = readOutlines(text);
  const found = outlines?.map(feedUrlOf).filter((url) => url !== undefined);
  // feedsmith has no empty document.
  if (!found || found.length > mostFeeds || found.length === 0) return found && found.length === 0 ? found : undefined;
  const urls = parsed(text);
  const isSame = urls?.length === found.length && urls.every((url, place) => url === found[place]);
  return isSame ? urls : undefined;
}

function textOf(document: Uint8Array): string | undefined {
  try {
    const text = utf8.decode(document);
    const [, encoding = 'utf-8'] = declared.exec(text) ?? [];
    return readable.test(encoding) ? text : undefined;
  } catch {
    return undefined;
  }
}

function feedUrlOf({ xmlUrl }: Outline): string | undefined {
  const url = xmlUrl?.trim();
  return url === '' ? undefined : url;
}

function parsed(text: string): string[] | undefined {
  try {
    const urls: string[] = [];
    for (const outline of parseOpml(text).body?.outlines ?? []) addFeeds(outline, urls);
    return urls;
  } catch {
    return undefined;
  }
}

/** Its depth is bounded by what was read before. */
function addFeeds(outline: Opml.Outline<string>, urls: string[]): void {
  if (outline.xmlUrl !== undefined) urls.push(outline.xmlUrl);
  for (const inner of outline.outlines ?? []) addFeeds(inner, urls);
}
