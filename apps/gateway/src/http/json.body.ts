import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '#contracts';
import type { Hold } from '../held.bytes.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Deeper than anything that the interface takes, and far from what a recursive function can't follow. */
const maxDepth = 32;

/**
 * Values in one body at most: a batch of 1,000 entries could have 65 fields each. A value of one byte, `0` or `[]`, takes
 * tens of bytes of memory, and many times that once it is validated.
 */
const maxValues = 65_536;

/** What a byte of a body becomes while its request is served: the byte, its text, its values, and the message made of them. */
const weight = 3;

/** The first room for a body, in bytes; it is doubled as bytes come. */
const firstRoom = 16_384;

/** There were more bytes than a body may have. */
const tooLarge = () => Object.assign(new Error('the body is too large'), { statusCode: 413 });

/**
 * Reads a body of at most `limit` bytes, weighing what has really come: a client that promises much and sends little
 * holds little.
 *
 * @throws Error with the `statusCode` 413, or 400 where the client stops half-way; Failure `unavailable` of `hold`.
 */
export function readBody(payload: Readable, declaredBytes: number, limit: number, hold: Hold): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (declaredBytes > limit) return reject(tooLarge());
    // One piece of memory, however small the pieces are in which it comes.
    let body = Buffer.alloc(0);
    let length = 0;
    const makeRoom = (bytes: number) => {
      if (bytes > limit) throw tooLarge();
      if (bytes <= body.length) return;
      const room = Math.min(Math.max(bytes, body.length * 2, firstRoom), limit);
      hold((room - body.length) * weight);
      const larger = Buffer.allocUnsafe(room);
      body.copy(larger, 0, 0, length);
      body = larger;
    };
    const take = (chunk: Buffer) => {
      try {
        makeRoom(length + chunk.length);
        length += chunk.copy(body, length);
      } catch (error) {
        payload.off('data', take);
        reject(error as Error);
      }
    };
    payload.on('data', take);
    payload.once('end', () => resolve(body.subarray(0, length)));
    payload.once('error', (error: Error) => reject(Object.assign(error, { statusCode: 400 })));
  });
}

/** Bodies of more bytes are read as JSON one at a time, with a turn of the event loop for everybody else in between. */
const largeBytes = 65_536;
let last: Promise<void> = Promise.resolve();

/** Resolves when it is a large body's turn. Small ones do not wait. */
export function turnFor(body: Buffer): Promise<void> {
  if (body.length <= largeBytes) return Promise.resolve();
  last = last.then(() => nextTurn());
  return last;
}

/**
 * JSON in valid UTF-8, not too deep and not of too many values; nothing for no bytes. A key `__proto__` stays an ordinary
 * one, as JSON.parse leaves it.
 *
 * @throws Failure `invalid`.
 */
export function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const { depth, values } = shape(body);
  if (depth > maxDepth || values > maxValues) throw new Failure('invalid');
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new Failure('invalid', undefined, { cause });
  }
}

/** How deep arrays and objects are nested in what may be JSON, and about how many values there are. */
function shape(body: Buffer): { depth: number; values: number } {
  const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
  let [now, depth, values, inString] = [0, 0, 0, false];
  for (let index = 0; index < body.length; index++) {
    const byte = body[index] as number;
    if (inString) {
      if (byte === backslash) index++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === comma) values++;
    // [ and { differ in one bit, and so do ] and }.
    else if ((byte | 0x20) === 0x7b) {
      values++;
      depth = Math.max(depth, ++now);
    } else if ((byte | 0x20) === 0x7d) now--;
  }
  return { depth, values };
}
