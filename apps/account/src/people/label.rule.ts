const mostLabelLength = 64;

/**
 * Returns a name that others chose, as people read it: at most 64 characters without control,
 * invisible and direction characters. Empty if no letter and no digit is left.
 */
export function labelOf(text: string): string {
  const seen = text
    .slice(0, 1_000)
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
  const label = [...seen.replaceAll(/\s+/gu, ' ').trim()].slice(0, mostLabelLength).join('');
  return /[\p{L}\p{N}]/u.test(label) ? label.trim() : '';
}
