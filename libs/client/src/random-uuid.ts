import { uuidOf } from '../../contracts/src/feed-url.js';

/**
 * Returns a random UUID (version 4), for ids and idempotency keys. Does not use
 * `crypto.randomUUID`, which browsers lack on plain http pages, such as those of a home server.
 * React Native needs the polyfill `react-native-get-random-values`.
 */
export function randomUuid(): string {
  return uuidOf(crypto.getRandomValues(new Uint8Array(16)), 4);
}
