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
import { answerBrokenHttp, answerExpectAndConnect, failureAnswers, send } from './errors.js';
import { readBody, readJson, waitToParse } from './json.body.js';
import { recordRequests, requestId, securityHeaders, trackEnds } from './request.hooks.js';
import { limitPipelining, scheduleFairly } from './scheduling.js';
import { hashOfBody } from './write.identity.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; absent only on paths that need no credential. */
    caller?: Caller;
    /** Accounts for the memory that this request holds; present in handlers where `caller` is. */
    hold?: Hold;
    /** The bytes of its body, once that was read. */
    bodyBytes?: number;
    /** The SHA-256 of its body, where it has one and a key by which it may be sent again. */
    bodyHash?: string | undefined;
  }
}

/** What a web page may send and read (docs/interface.md). */
const corsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'Idempotency-Key'],
  exposedHeaders: 'Sync-Timestamp, ETag, Ignored-Parameters, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy',
  maxAge: 600,
};

/** Headers of one request that are parsed; real clients send less than a quarter of that. */
const maxHeaders = 100;

/** JSON from `threshold` bytes on is compressed where the client accepts it; docs/security.md says why that is safe. */
const compression = {
  encodings: ['br' as const, 'gzip' as const],
  threshold: 1_024,
  customTypes: /^application\/json\b/,
  // Bodies of requests are never decompressed: one could grow a thousandfold.
  globalDecompression: false,
};

/**
 * Answers of more bytes are not compressed: that would take a core for as long as a hundred polls, and no page of
 * ordinary episodes is that large.
 */
const largestCompressed = 524_288;

/** How long a client may take, in milliseconds. */
export interface Patience {
  /** To send the head of a request. */
  readonly headMs: number;
  /** To send a whole request. */
  readonly requestMs: number;
}

/**
 * A head is a few packets, and ten seconds are time to send each of them again; in a minute a body of 2 MiB arrives at
 * 0.3 Mbit/s. Who needs longer mostly is not there any more, or only wants to hold a connection.
 */
export const patience: Patience = { headMs: 10_000, requestMs: 60_000 };

/** The HTTP server: before Nest's router {@link Admission}, then the body. All its errors have the interface's body. */
export async function createFastify(
  config: GatewayConfig,
  admission: Admission,
  log: Log,
  times: Patience = patience,
): Promise<FastifyAdapter> {
  const protect = securityHeaders(config);
  const adapter = new FastifyAdapter({
    ...limits(config, times),
    trustProxy: config.TRUSTED_PROXIES ?? false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: requestId,
    // A target may be a whole URL (RFC 9112, 3.2.2), of which only path and query count.
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?]*\/?/i, '/'),
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // Fastify runs no hook for such a request.
      protect(request, reply.header('x-request-id', request.id));
      void admission.refuse(request, reply);
    },
  });
  const fastify = adapter.getInstance();
  fastify.server.maxConnections = config.MAX_CONNECTIONS;
  fastify.server.maxHeadersCount = maxHeaders;
  // Fastify sends a Buffer as it is; only its types demand a string.
  fastify.setReplySerializer((body) => (body instanceof JsonText ? body.text : JSON.stringify(body)) as string);
  const isRefused = scheduleFairly(fastify.server);
  limitPipelining(fastify.server);
  answerExpectAndConnect(fastify.server);
  trackEnds(fastify);
  recordRequests(fastify, log);
  closeConnections(fastify);
  parseBodies(fastify, config.MAX_BODY_BYTES);
  fastify.addHook('onRequest', async (request, reply) => {
    protect(request, reply);
    return isRefused(request.raw) ? send(reply, failureAnswers.unavailable) : undefined;
  });
  if (config.CORS_ORIGINS) allowOrigins(fastify, config.CORS_ORIGINS);
  // After CORS, so that a browser can read a refusal, and preflights need no credential.
  fastify.after(() => fastify.addHook('onRequest', (request, reply) => admission.admit(request, reply)));
  await compressAnswers(fastify);
  return adapter;
}

/** Reads bodies as JSON and as nothing else. Their bytes are counted before they are copied or parsed. */
function parseBodies(fastify: FastifyInstance, limit: number): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    if (!request.hold) throw new Failure('unauthorized');
    const body = await readBody(payload, Number(request.headers['content-length'] ?? 0), limit, request.hold);
    request.bodyBytes = body.length;
    await waitToParse(body);
    request.bodyHash = hashOfBody(request.headers, body);
    return readJson(body);
  });
}

function allowOrigins(fastify: FastifyInstance, origin: string[]): void {
  fastify.register(cors, () => (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => {
    use(null, { ...corsOptions, origin, preflight: isPreflight(request) });
  });
}

/** To be called before routes are added: the plugin sets up each one as it is added. */
async function compressAnswers(fastify: FastifyInstance): Promise<void> {
  fastify.addHook('onSend', async (request, _reply, payload) => {
    // By this header a client declines compression, and the plugin skips it.
    if (Buffer.isBuffer(payload) && payload.length > largestCompressed) request.headers['x-no-compression'] = 'large';
    return payload;
  });
  await fastify.register(compress, compression);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
  });
}

/**
 * Makes every answer end its connection once the server closes. Fastify does so for requests that arrive afterwards;
 * the connection of an earlier request would keep the server open until its idle time-out.
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

/** Whether it is a CORS preflight (Fetch, 3.2.2); any other OPTIONS is handled like every method. */
function isPreflight({ headers }: FastifyRequest): boolean {
  return Boolean(headers.origin && headers['access-control-request-method']);
}

/** HEAD omits the length where GET might compress the answer, as it can't know it (RFC 9110, 8.6). */
const withoutLength: onSendAsyncHookHandler = async (request, reply, payload) => {
  if (request.headers['accept-encoding'] !== undefined) reply.removeHeader('content-length');
  return payload;
};

/** Fastify's limits of size and time for requests. */
function limits(config: GatewayConfig, { headMs, requestMs }: Patience) {
  return {
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout: requestMs,
    // For idle connections; longer than any answer takes.
    connectionTimeout: requestMs + 30_000,
    http: {
      // A request without a Host is answered by the admission check, with the interface's body.
      requireHostHeader: false,
      maxHeaderSize: config.MAX_HEADER_BYTES,
      headersTimeout: headMs,
      connectionsCheckingInterval: 1_000,
    },
    // A guid that is too long is answered as an invalid guid (405) and not as a missing route (404).
    // Only lists have a query, and they parse it themselves (list/list.query.ts).
    routerOptions: { maxParamLength: config.MAX_HEADER_BYTES, querystringParser: () => ({}) },
  };
}
