import { uuidOf } from './podcast.guid.js';

/**
 * A UUID of random bits, for keys and ids. `crypto.randomUUID` is not there on pages of plain http, such as those of a
 * server at home, and React Native needs the polyfill `react-native-get-random-values`.
 */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return uuidOf(bytes);
}
