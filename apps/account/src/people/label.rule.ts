const mostLabelLength = 64;

/** Returns at most 64 characters without control, invisible and direction characters. */
export function labelOf(text: string): string {
  const seen = text.slice(0, 1_000).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = seen.replaceAll(/\s+/gu, ' ').trim();
  return [...label].slice(0, mostLabelLength).join('').trim();
}
