/** Text that is HTML already. Only `html` makes it, so nothing reaches a page without having been escaped. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template takes: text is escaped, HTML is put in as it is, and what is absent or false leaves nothing. */
export type Part = Html | string | number | false | undefined | readonly Part[];

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replace(/[&<>"']/g, (character) => escapes[character]!);
}

/**
 * HTML of a template. Every value is escaped for a text and for a quoted attribute; attributes are always quoted, and no
 * value is ever put into a script or a style, of which pages have none.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, at) => (at < parts.length ? text + textOf(parts[at]) : text)).join(''));
}
