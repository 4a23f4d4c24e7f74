/** A key for a request that may be sent more than once: 128 random bits. */
export function newKey(): string {
  // Not randomUUID: a server at home may be reached without TLS, where browsers leave it out.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
