import { uuidOf } from '../../contracts/src/feed.url.js';

/**
 * Returns a UUID of random bits, for keys and ids. `crypto.randomUUID` is missing on pages of plain http, such as those of a
 * server at home, and React Native needs the polyfill `react-native-get-random-values`.
 */
export function newKey(): string {
  return uuidOf(crypto.getRandomValues(new Uint8Array(16)), 4);
}
