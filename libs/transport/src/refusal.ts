/**
 * Whether an error of a connection to Redis helps nobody by trying again: a wrong password, a certificate that is not
 * trusted. Somebody has to change something first.
 */
export function isRefusal({ message, code }: Error & { code?: string }): boolean {
  return /\b(WRONGPASS|NOAUTH|NOPERM|invalid password)\b/.test(message) || /CERT|^UNABLE_TO_/.test(code ?? '');
}
