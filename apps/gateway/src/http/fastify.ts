import compress from '@fastify/compress';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { IncomingMessage } from 'node:http';
import { Failure, JsonText } from '#contracts';
import type { Log } from '#runtime';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify';
import type { Caller } from '../auth/authenticator.js';
import type { GatewayConfig } from '../gateway.config.js';
import type { Hold } from '../held.bytes.js';
import type { Admission } from './admission.js';
import { answerBrokenHttp, answerOddities } from './broken.http.js';
import { readBody, readJson, turnFor } from './json.body.js';
import { tellEnds } from './request.end.js';
import { recordRequests, requestId } from './request.record.js';
import { securityHeaders } from './security.headers.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set before any handler runs, but on the paths that are open to all. */
    caller?: Caller;
    /** Counts what this request makes the process hold; there where the caller is. */
    hold?: Hold;
    /** The bytes of its body, once that was read. */
    bodyBytes?: number;
  }
}

/** What a web page may send and read (docs/interface.md). */
const corsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'Idempotency-Key'],
  exposedHeaders: [
    ...['Sync-Timestamp', 'ETag', 'Ignored-Parameters', 'Retry-After', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'],
  ],
  maxAge: 600,
};

/** Headers of one request that are looked at; no client of ours sends a quarter of that. */
const maxHeaders = 100;

/** JSON of more bytes is compressed where the client can take it; docs/security.md says why that is safe. */
const compression = {
  encodings: ['br' as const, 'gzip' as const],
  threshold: 1_024,
  customTypes: /^application\/json\b/,
  // A compressed body could be a thousand times its size.
  globalDecompression: false,
};

/**
 * Answers of more bytes go out as they are: to compress one takes a core for as long as a hundred polls, and no page of
 * ordinary episodes is that large.
 */
const largestCompressed = 524_288;

/**
 * The HTTP server in front of Nest's router: first {@link Admission}, then the body. Every error it answers has the
 * interface's error body.
 */
export async function createFastify(config: GatewayConfig, admission: Admission, log: Log): Promise<FastifyAdapter> {
  const protect = securityHeaders(config);
  const adapter = new FastifyAdapter({
    ...limits(config),
    trustProxy: config.TRUSTED_PROXIES ?? false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: requestId,
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // No hook sees such a request.
      protect(request, reply.header('x-request-id', request.id));
      void admission.refuse(request, reply);
    },
  });
  const fastify = adapter.getInstance();
  fastify.server.maxConnections = config.MAX_CONNECTIONS;
  fastify.server.maxHeadersCount = maxHeaders;
  // Fastify sends bytes as they are; only its types ask for a string.
  fastify.setReplySerializer((body) => (body instanceof JsonText ? body.text : JSON.stringify(body)) as string);
  answerOddities(fastify.server);
  tellEnds(fastify);
  recordRequests(fastify, log);
  closeConnections(fastify);
  fastify.removeAllContentTypeParsers();
  // Nothing is copied or looked into before its bytes are counted.
  fastify.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    if (!request.hold) throw new Failure('unauthorized');
    const declared = Number(request.headers['content-length'] ?? 0);
    const body = await readBody(payload, declared, config.MAX_BODY_BYTES, request.hold);
    request.bodyBytes = body.length;
    await turnFor(body);
    return readJson(body);
  });
  fastify.addHook('onRequest', async (request, reply) => protect(request, reply));
  if (config.CORS_ORIGINS) {
    const origin = config.CORS_ORIGINS;
    fastify.register(cors, () => (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => {
      use(null, { ...corsOptions, origin, preflight: isPreflight(request) });
    });
  }
  // After CORS, so that a browser can read a refusal, and preflights need no credential.
  fastify.after(() => fastify.addHook('onRequest', (request, reply) => admission.admit(request, reply)));
  fastify.addHook('onSend', async (request, _reply, payload) => {
    // What the plugin takes as a client's own wish.
    if (Buffer.isBuffer(payload) && payload.length > largestCompressed) request.headers['x-no-compression'] = 'large';
    return payload;
  });
  // Compression looks at each route when it is added.
  await fastify.register(compress, compression);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
  });
  return adapter;
}

/**
 * Once the server closes, every answer ends its connection. Fastify sees to it for requests that come after that; one that
 * was begun before would leave a connection which keeps the server open for as long as an idle one is kept.
 */
function closeConnections(fastify: FastifyInstance): void {
  let closing = false;
  fastify.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close');
    done();
  });
}

/** What a browser asks on its own (Fetch, 3.2.2); any other OPTIONS is a method like any other. */
function isPreflight({ headers }: FastifyRequest): boolean {
  return Boolean(headers.origin && headers['access-control-request-method']);
}

/** Of an answer that GET may compress, HEAD can't tell the length (RFC 9110, 8.6), so it tells none. */
const withoutLength: onSendAsyncHookHandler = async (request, reply, payload) => {
  if (request.headers['accept-encoding'] !== undefined) reply.removeHeader('content-length');
  return payload;
};

/** How much of a request is taken, and for how long one waits for it. */
function limits(config: GatewayConfig) {
  const requestTimeout = config.REQUEST_SECONDS * 1_000;
  return {
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout,
    // A connection on which nothing moves; longer than any answer takes.
    connectionTimeout: requestTimeout + 30_000,
    http: {
      // A request without a Host is answered by the admission check, with the interface's body.
      requireHostHeader: false,
      maxHeaderSize: config.MAX_HEADER_BYTES,
      headersTimeout: Math.min(config.HEAD_SECONDS * 1_000, requestTimeout),
      connectionsCheckingInterval: 1_000,
    },
    // A guid that is too long is a guid that is wrong, not a route that is missing.
    // And nobody reads a query but lists, which know what they look for.
    routerOptions: { maxParamLength: config.MAX_HEADER_BYTES, querystringParser: () => ({}) },
  };
}
