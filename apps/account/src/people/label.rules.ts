const maxLabelLength = 64;

/**
 * Returns a name that a client sent in a form that is safe to show: at most 64 characters, without
 * control characters, invisible characters and changes of the writing direction. Returns an empty
 * string for a name without letters and digits.
 */
export function cleanLabel(text: string): string {
  const visible = text
    .slice(0, 1_000)
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = [...visible.replaceAll(/\s+/gu, ' ').trim()].slice(0, maxLabelLength).join('');
  return /[\p{L}\p{N}]/u.test(label) ? label.trim() : '';
}

/** Matches a user agent with one product, its version and maybe a comment: `Kasts/26; Player`. */
const oneProductPattern = /^(\p{L}[\p{L}\p{N} _-]*)\/\d[\w.-]*(?:;.*)?$/u;

/** Returns an app's name from its user agent: the product, the cleaned user agent, or `App`. */
export function appLabel(userAgent: string): string {
  const label = cleanLabel(userAgent);
  // GNOME Podcasts sends only the word `Podcasts`.
  if (label === 'Podcasts') return 'GNOME Podcasts';
  return oneProductPattern.exec(label)?.[1] ?? (label || 'App');
}
