import { derivedGuid } from '../../contracts/src/feed-url.js';

/** Returns the guid that the server derives from a URL for a feed without a declared guid. */
export function podcastGuid(feedUrl: string): string {
  return derivedGuid(feedUrl, (namespace, name) => {
    const nameBytes = new TextEncoder().encode(name);
    const message = new Uint8Array(namespace.length + nameBytes.length);
    message.set(namespace);
    message.set(nameBytes, namespace.length);
    return computeSha1(message);
  });
}

/**
 * Returns the SHA-1 of a message (FIPS 180-4, 6.1). Browsers provide SHA-1 on https pages only, and
 * only asynchronously. The core of the SDK has no dependencies, so it contains its own SHA-1.
 */
function computeSha1(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 9) / 64);
  const padded = new Uint8Array(blocks * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 0x2000_0000));
  view.setUint32(padded.length - 4, (message.length << 3) >>> 0);
  const state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
  const words = new Uint32Array(80);
  for (let block = 0; block < blocks; block++) {
    for (let n = 0; n < 16; n++) words[n] = view.getUint32(block * 64 + n * 4);
    for (let n = 16; n < 80; n++)
      words[n] = rotateLeft(
        getWord(words, n - 3) ^
          getWord(words, n - 8) ^
          getWord(words, n - 14) ^
          getWord(words, n - 16),
        1,
      );
    let [a, b, c, d, e] = [...state] as [number, number, number, number, number];
    for (let n = 0; n < 80; n++) {
      const [mixed, constant] = computeRound(n, b, c, d);
      const next = (rotateLeft(a, 5) + mixed + e + constant + getWord(words, n)) >>> 0;
      [a, b, c, d, e] = [next, a, rotateLeft(b, 30), c, d];
    }
    for (const [n, value] of [a, b, c, d, e].entries()) state[n] = getWord(state, n) + value;
  }
  const hash = new DataView(new ArrayBuffer(20));
  for (const [n, word] of state.entries()) hash.setUint32(n * 4, word);
  return new Uint8Array(hash.buffer);
}

/** Returns the function of a round and its constant (FIPS 180-4, 4.1.1 and 4.2.1). */
function computeRound(
  n: number,
  b: number,
  c: number,
  d: number,
): [mixed: number, constant: number] {
  if (n < 20) return [(b & c) | (~b & d), 0x5a827999];
  if (n < 40) return [b ^ c ^ d, 0x6ed9eba1];
  if (n < 60) return [(b & c) | (b & d) | (c & d), 0x8f1bbcdc];
  return [b ^ c ^ d, 0xca62c1d6];
}

const rotateLeft = (word: number, by: number) => ((word << by) | (word >>> (32 - by))) >>> 0;
const getWord = (words: Uint32Array, n: number) => words[n] as number;
