import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Failure, JsonText } from '#contracts';
import { parsingSlot } from '#runtime';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TooLarge } from './errors.js';
import type { HoldBytes } from './user-limiter.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Counts the bytes that this request keeps in memory, and throws above the limits. Set by
     * {@link Admission}. A request with a body that was not admitted fails with `unauthorized`.
     */
    hold?: HoldBytes;
    /** Length of the body in bytes; absent before the body is read. */
    bodyBytes?: number;
    /** Text of the JSON body; absent if the body is not valid JSON. */
    sentJson?: JsonText<never>;
  }
}

/**
 * Kinds of request bodies:
 * - `json`: any JSON.
 * - `xml`: a Buffer of at most 2 MiB, not parsed yet.
 * - `form`: `application/x-www-form-urlencoded`, as an object of strings; the last value of a
 *   repeated name.
 * - `bytes`: a Buffer of any content type. Excludes the other kinds.
 */
export type BodyKind = 'json' | 'xml' | 'form' | 'bytes';

export interface BodyOptions {
  readonly kinds: readonly BodyKind[];
  /** Maximum length of one body in bytes; a longer one is answered with 413. */
  readonly limit: number;
  /** Called with each JSON or XML body before it is parsed. */
  readonly onBody?: ((request: FastifyRequest, body: Buffer) => void) | undefined;
}

/** Content types of bodies of the kind `xml`. */
export const xmlTypes = ['text/x-opml', 'application/opml+xml', 'text/xml', 'application/xml'];
/** Maximum length of an XML body in bytes. A smaller `MAX_BODY_BYTES` takes precedence. */
const maxXmlBytes = 2 * 1_048_576;

/** Maximum fields of a form; a form with more is invalid input. */
const maxFields = 64;

/**
 * Registers parsers for bodies of these kinds; a body of another kind is invalid input. Counts the
 * bytes of a body with `request.hold` before it copies them.
 */
export function parseBodies(fastify: FastifyInstance, { kinds, limit, onBody }: BodyOptions): void {
  const addParser = (
    types: string | string[],
    parse: (request: FastifyRequest, body: Buffer) => unknown,
    maxBytes = limit,
  ) => {
    fastify.addContentTypeParser(
      types,
      async (request: FastifyRequest, payload: IncomingMessage) => {
        const { hold, headers } = request;
        if (!hold) throw new Failure('unauthorized');
        const body = await readBody(
          payload,
          Number(headers['content-length'] ?? 0),
          maxBytes,
          hold,
        );
        request.bodyBytes = body.length;
        return parse(request, body);
      },
    );
  };
  fastify.removeAllContentTypeParsers();
  if (kinds.includes('json'))
    addParser('application/json', async (request, body) => {
      await waitToParse(body);
      onBody?.(request, body);
      const { value, text } = parseJson(body);
      request.sentJson = JsonText.from(text);
      return value;
    });
  if (kinds.includes('xml')) {
    const parse = (request: FastifyRequest, body: Buffer) => {
      onBody?.(request, body);
      return body;
    };
    addParser(xmlTypes, parse, Math.min(limit, maxXmlBytes));
  }
  if (kinds.includes('form'))
    addParser('application/x-www-form-urlencoded', (_, body) => parseForm(body));
  if (kinds.includes('bytes')) {
    // Replaces the content type, because Fastify rejects an invalid one before it calls a parser.
    fastify.addHook('onRequest', (request, _reply, done) => {
      request.raw.headers['content-type'] = 'application/octet-stream';
      done();
    });
    addParser('*', (_, body) => body);
  }
}

/**
 * Returns the JSON text of a batch, for the service that validates its entries. Checks only the
 * number of entries.
 *
 * @throws Failure `invalid` without a JSON body, or for more than `max` entries.
 */
export function sentBatch(
  { sentJson }: FastifyRequest,
  entries: readonly unknown[],
  max: number,
): JsonText<never> {
  if (!sentJson || entries.length > max) throw new Failure('invalid');
  return sentJson;
}

/**
 * Returns the fields of a form (URL Standard, 5.1) in an object without a prototype.
 *
 * @throws Failure `invalid` for more than {@link maxFields} fields; no page has more.
 */
function parseForm(body: Buffer): Record<string, string> {
  const formText = body.toString('utf8');
  if (formText.split('&', maxFields + 1).length > maxFields) throw new Failure('invalid');
  return Object.assign(
    Object.create(null) as object,
    Object.fromEntries(new URLSearchParams(formText)),
  );
}

const utf8Decoder = new TextDecoder('utf-8', { fatal: true });

/** Maximum nesting depth of JSON: more than the interface needs, but no risk for the stack. */
const maxDepth = 32;

/**
 * Maximum JSON values in one body: enough for 1,000 entries of 65 fields each. Even a short value,
 * such as `0` or `[]`, takes tens of bytes of memory, and many times that while it is validated.
 */
const defaultMaxValues = 65_536;

/** Bytes of memory for each byte of a body: its text, parsed values and message to a service. */
const memoryPerByte = 3;

/** Initial size in bytes of the buffer of a body. The buffer's size is doubled as needed. */
const initialBufferBytes = 16_384;

/**
 * Reads a body of at most `limit` bytes. Counts received bytes with `hold`, not the declared
 * length, so that a client cannot reserve memory without sending.
 *
 * @throws TooLarge; Error with the `statusCode` 400 if the connection closes early; Failure
 *   `unavailable` of `hold`.
 */
export function readBody(
  payload: Readable,
  declaredBytes: number,
  limit: number,
  hold: HoldBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (declaredBytes > limit) return reject(new TooLarge());
    // Copies each chunk into one buffer, because a list of tiny chunks would take much more memory
    // than `hold` counts.
    let body = Buffer.alloc(0);
    let receivedBytes = 0;
    const ensureRoom = (neededBytes: number) => {
      if (neededBytes > limit) throw new TooLarge();
      if (neededBytes <= body.length) return;
      const newSize = Math.min(Math.max(neededBytes, body.length * 2, initialBufferBytes), limit);
      hold((newSize - body.length) * memoryPerByte);
      const newBuffer = Buffer.allocUnsafe(newSize);
      body.copy(newBuffer, 0, 0, receivedBytes);
      body = newBuffer;
    };
    const onChunk = (chunk: Buffer) => {
      try {
        ensureRoom(receivedBytes + chunk.length);
        receivedBytes += chunk.copy(body, receivedBytes);
      } catch (error) {
        payload.off('data', onChunk);
        reject(error as Error);
      }
    };
    payload.on('data', onChunk);
    payload.once('end', () => resolve(body.subarray(0, receivedBytes)));
    payload.once('error', (error: Error) => reject(Object.assign(error, { statusCode: 400 })));
  });
}

/** Length in bytes above which at most one body is parsed per event loop iteration. */
const largeBodyBytes = 65_536;

/** Resolves when a body can be parsed: a small one immediately, a large one after earlier ones. */
export function waitToParse(body: Buffer): Promise<void> {
  return body.length <= largeBodyBytes ? Promise.resolve() : parsingSlot();
}

/**
 * Parses UTF-8 JSON of at most {@link maxDepth} levels and `maxValues` values. Returns the value
 * and its text; the value is `undefined` for an empty body. A key `__proto__` stays an ordinary
 * key, as in JSON.parse.
 *
 * @param createError creates the error for too many values.
 * @throws Failure `invalid`; the error of `createError`.
 */
export function parseJson(
  body: Buffer,
  maxValues = defaultMaxValues,
  createError = (): Error => new Failure('invalid'),
): { value: unknown; text: string } {
  if (body.length === 0) return { value: undefined, text: '' };
  const { depth, values } = measureJson(body);
  if (depth > maxDepth) throw new Failure('invalid');
  if (values > maxValues) throw createError();
  try {
    const text = utf8Decoder.decode(body);
    return { value: JSON.parse(text), text };
  } catch (cause) {
    throw new Failure('invalid', { cause });
  }
}

/** Returns nesting depth and approximate number of values of a text that can be invalid JSON. */
function measureJson(body: Buffer): { depth: number; values: number } {
  const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
  let [currentDepth, depth, values, isInString] = [0, 0, 0, false];
  for (let index = 0; index < body.length; index++) {
    const byte = body[index] as number;
    if (isInString) {
      if (byte === backslash) index++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === comma) values++;
    // Sets the bit in which "[" differs from "{", and "]" from "}", so one comparison matches both.
    else if ((byte | 0x20) === 0x7b) {
      values++;
      depth = Math.max(depth, ++currentDepth);
    } else if ((byte | 0x20) === 0x7d) currentDepth--;
  }
  return { depth, values };
}

/**
 * Reads and discards a body of at most `limit` bytes. Resolves to true when the whole body has
 * arrived or the connection is closed. Some clients send a whole body before they read the answer,
 * and report a closed connection as a failure.
 *
 * @returns false if the body is longer than `limit`. The caller must then close the connection.
 */
export function dropBody(payload: IncomingMessage, limit: number): Promise<boolean> {
  if (payload.readableEnded || payload.destroyed) return Promise.resolve(true);
  if (Number(payload.headers['content-length'] ?? 0) > limit) return Promise.resolve(false);
  return new Promise((resolve) => {
    let receivedBytes = 0;
    payload.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes <= limit) return;
      payload.pause();
      resolve(false);
    });
    for (const event of ['end', 'close', 'error']) payload.once(event, () => resolve(true));
  });
}
