/** Returns an idempotency key of 128 random bits. */
export function newKey(): string {
  // A server at home can be reached without TLS, where browsers omit `randomUUID`.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
