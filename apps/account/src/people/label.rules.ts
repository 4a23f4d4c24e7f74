/** Maximum characters (Unicode code points) of a label. Longer labels are cut. */
const maxLabelLength = 64;

/**
 * Cleans a name that a client sent, so that pages can show it: at most 64 characters, without
 * control characters, invisible characters and changes of the writing direction. Returns an empty
 * string for a name without letters and digits.
 */
export function cleanLabel(sentName: string): string {
  const visibleText = sentName
    .slice(0, 1_000)
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = [...visibleText.replaceAll(/\s+/gu, ' ').trim()].slice(0, maxLabelLength).join('');
  return /[\p{L}\p{N}]/u.test(label) ? label.trim() : '';
}

/** Matches a user agent with a product, its version and an optional comment: `Kasts/26; Player`. */
const oneProductPattern = /^(\p{L}[\p{L}\p{N} _-]*)\/\d[\w.-]*(?:;.*)?$/u;

/** Returns the product of a user agent, else the cleaned user agent, or `App` if it is empty. */
export function appLabel(userAgent: string): string {
  const label = cleanLabel(userAgent);
  // GNOME Podcasts sends only the word `Podcasts`.
  if (label === 'Podcasts') return 'GNOME Podcasts';
  return oneProductPattern.exec(label)?.[1] ?? (label || 'App');
}
