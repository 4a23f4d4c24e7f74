const mostLabelLength = 64;

/**
 * A label as it is kept: without control characters and those that change the direction or are not seen, cut where asked.
 * For names that apps give themselves as well.
 */
export function labelOf(text: string): string {
  const seen = text.slice(0, 1_000).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = seen.replaceAll(/\s+/gu, ' ').trim();
  return [...label].slice(0, mostLabelLength).join('').trim();
}
