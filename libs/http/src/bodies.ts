import type { IncomingMessage } from 'node:http';
import { Failure, JsonText } from '#contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Hold } from './user.limiter.js';
import { readBody, readJson, waitToParse } from './json.body.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Accounts for the memory that this request holds; set by admission, and without it no body is read. */
    hold?: Hold;
    /** The bytes of its body, once that was read. */
    bodyBytes?: number;
    /** Its body as the client sent it, where that is JSON and was parsed. */
    sentJson?: JsonText<never>;
  }
}

/**
 * `json`: any JSON. `xml`: what may be XML, as a Buffer of at most 2 MiB; nothing of it was looked at. `form`: `application/x-www-form-urlencoded`, as an object of texts; of a name that repeats, the last.
 * `bytes`: anything, whatever its type is said to be, as a Buffer; there is no other kind beside it.
 */
export type BodyKind = 'json' | 'xml' | 'form' | 'bytes';

export interface BodyOptions {
  readonly kinds: readonly BodyKind[];
  /** Bytes of one body at most. */
  readonly limit: number;
  readonly onBody?: ((request: FastifyRequest, body: Buffer) => void) | undefined;
}

/** The types of bodies of the kind `xml`. */
export const xmlTypes = ['text/x-opml', 'application/opml+xml', 'text/xml', 'application/xml'];
/** Bytes of such a body at most, however many others may have. */
const mostXmlBytes = 2 * 1_048_576;

/** Fields of a form at most. */
const maxFields = 64;

/** Reads bodies of these kinds and no others. Their bytes are counted before they are copied or parsed. */
export function parseBodies(fastify: FastifyInstance, { kinds, limit, onBody }: BodyOptions): void {
  const read = async (request: FastifyRequest, payload: IncomingMessage, most = limit): Promise<Buffer> => {
    if (!request.hold) throw new Failure('unauthorized');
    const body = await readBody(payload, Number(request.headers['content-length'] ?? 0), most, request.hold);
    request.bodyBytes = body.length;
    return body;
  };
  fastify.removeAllContentTypeParsers();
  if (kinds.includes('json')) {
    fastify.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = await read(request, payload);
      await waitToParse(body);
      onBody?.(request, body);
      const { value, text } = readJson(body);
      request.sentJson = JsonText.from(text);
      return value;
    });
  }
  if (kinds.includes('xml')) {
    fastify.addContentTypeParser(xmlTypes, async (request: FastifyRequest, payload: IncomingMessage) => {
      const body = await read(request, payload, Math.min(limit, mostXmlBytes));
      onBody?.(request, body);
      return body;
    });
  }
  if (kinds.includes('form')) {
    const type = 'application/x-www-form-urlencoded';
    fastify.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) =>
      readForm(await read(request, payload)),
    );
  }
  if (kinds.includes('bytes')) {
    // A type that can't be parsed is refused before any parser is asked.
    fastify.addHook('onRequest', (request, _reply, done) => {
      request.raw.headers['content-type'] = 'application/octet-stream';
      done();
    });
    fastify.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) =>
      read(request, payload),
    );
  }
}

/**
 * The fields of a form (URL Standard, 5.1), in an object without a prototype.
 *
 * @throws Failure `invalid` for more fields than any page has.
 */
function readForm(body: Buffer): Record<string, string> {
  const text = body.toString('utf8');
  if (text.split('&', maxFields + 1).length > maxFields) throw new Failure('invalid');
  return Object.assign(Object.create(null) as object, Object.fromEntries(new URLSearchParams(text)));
}
