const maxLabelLength = 64;

/**
 * Returns a name of another party in a form that is safe to show: at most 64 characters, without
 * control, invisible and direction characters. Empty if it has neither a letter nor a digit.
 */
export function cleanLabel(text: string): string {
  const visible = text
    .slice(0, 1_000)
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = [...visible.replaceAll(/\s+/gu, ' ').trim()].slice(0, maxLabelLength).join('');
  return /[\p{L}\p{N}]/u.test(label) ? label.trim() : '';
}

/** A user agent with one product, its version and a comment, such as `Kasts/26.11; A player`. */
const oneProduct = /^(\p{L}[\p{L}\p{N} _-]*)\/\d[\w.-]*(?:;.*)?$/u;

/** Returns the name of an app by its user agent. GNOME Podcasts only sends `Podcasts`. */
export function appLabel(userAgent: string): string {
  const label = cleanLabel(userAgent);
  if (label === 'Podcasts') return 'GNOME Podcasts';
  return oneProduct.exec(label)?.[1] ?? (label || 'App');
}
