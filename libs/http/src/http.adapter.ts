import compress from '@fastify/compress';
import cookie from '@fastify/cookie';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { JsonText } from '#contracts';
import type { Log } from '#runtime';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify';
import { type BodyKind, type BodyOptions, parseBodies } from './bodies.js';
import type { HttpConfig } from './http.config.js';
import { Admission, type AdmissionOptions } from './admission.js';
import { httpAnswers } from './errors.js';
import { watchHeldBytes } from './http.metrics.js';
import { ownHost } from './own.host.js';
import { recordRequests, requestId, securityHeaders, trackEnds } from './request.hooks.js';
import { RouteTable } from './route.table.js';

/** JSON and OPML from `threshold` bytes on are compressed where the client accepts it; docs/design/security.md says why that is safe. */
const compression = {
  encodings: ['br' as const, 'gzip' as const],
  threshold: 1_024,
  customTypes: /^(application\/json|text\/x-opml)\b/,
  // Bodies of requests are never decompressed: one could grow a thousandfold.
  globalDecompression: false,
};

/**
 * Answers of more bytes are not compressed: that would take a core for as long as a hundred polls, and no page of
 * ordinary episodes is that large. What is longer is sent as a stream, or not compressed at least.
 */
export const largestCompressed = 524_288;

/** How an HTTP app answers. Requests are admitted after CORS, so that a browser can read a refusal. */
export interface HttpOptions extends AdmissionOptions {
  readonly config: HttpConfig;
  readonly log: Log;
  /** Headers of every answer to this request beside those that all have: at least `content-security-policy`. */
  headers(request: FastifyRequest): Readonly<Record<string, string>>;
  /** The kinds of bodies that are read; any other is refused with 415. */
  readonly bodies: readonly BodyKind[];
  /** Sees each body of JSON or XML before it is parsed. */
  readonly onBody?: BodyOptions['onBody'];
  /** What web pages of other origins may send and read. Left out: nothing. */
  readonly cors?: FastifyCorsOptions;
  /** Whether `request.cookies` and `reply.setCookie` are there. */
  readonly cookies?: boolean;
  /**
   * A listener of Node that answers this request in the place of all routes, once it is admitted. It reads the body, whose
   * bytes nobody counts, and gets the headers of this edge as if they had been set on its response before. Ids aside there
   * have to be few such paths: metrics name them.
   */
  readonly handOver?: (request: FastifyRequest) => RequestListener | undefined;
  /** The path that a request means, where it is another one than it names. */
  readonly rewrite?: (url: string) => string;
}

/**
 * What bounds, records and refuses the requests of an HTTP app before its routes see them, as an adapter for Nest (ADR 20).
 * What differs between apps is in their options. The server is {@link serveApps}.
 */
export async function createHttpAdapter(options: HttpOptions): Promise<FastifyAdapter> {
  const { config, log, limiter, errors, rewrite = (url) => url } = options;
  const isOwn = ownHost(config);
  const protect = securityHeaders(config.PUBLIC_URL, options.headers);
  const adapter = new FastifyAdapter({
    bodyLimit: config.MAX_BODY_BYTES,
    // A guid that is too long is answered as an invalid guid (405) and not as a missing route (404).
    // Whoever needs a query parses it.
    routerOptions: { maxParamLength: config.MAX_HEADER_BYTES, querystringParser: () => ({}) },
    trustProxy: config.TRUSTED_PROXIES ?? false,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: requestId,
    rewriteUrl: ({ url = '/' }) => rewrite(url),
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // Fastify runs no hook for such a request.
      protect(request, reply.header('x-request-id', request.id));
      void admission.refuse(request, reply);
    },
  });
  const fastify = adapter.getInstance();
  const admission = new Admission(options, new RouteTable(fastify), log);
  watchHeldBytes(() => limiter.heldBytes);
  // Fastify sends a Buffer as it is; only its types demand a string.
  fastify.setReplySerializer((body) => (body instanceof JsonText ? body.text : JSON.stringify(body)) as string);
  trackEnds(fastify);
  recordRequests(fastify, log);
  parseBodies(fastify, { kinds: options.bodies, limit: config.MAX_BODY_BYTES, onBody: options.onBody });
  fastify.addHook('onRequest', (request, reply, done) => {
    protect(request, reply);
    if (request.headers.host !== undefined && !isOwn(request.hostname)) errors.send(reply, httpAnswers[421]);
    else done();
  });
  if (options.cors) allowOrigins(fastify, options.cors);
  if (options.cookies) await fastify.register(cookie);
  fastify.after(() => {
    fastify.addHook('onRequest', async (request, reply) => {
      const listener = options.handOver?.(request);
      if (!(await admission.admit(request, reply, listener !== undefined))) return reply;
      if (listener) handOver(listener, request, reply);
      return undefined;
    });
  });
  await compressAnswers(fastify);
  return adapter;
}

/** Gives a request to a listener of Node instead of to a route. */
function handOver(listener: RequestListener, request: FastifyRequest, reply: FastifyReply): void {
  request.isHandedOver = true;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  listener(request.raw, reply.raw);
}

function allowOrigins(fastify: FastifyInstance, options: FastifyCorsOptions): void {
  fastify.register(cors, () => (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => {
    use(null, { ...options, preflight: isPreflight(request) });
  });
}

/** To be called before routes are added: the plugin sets up each one as it is added. */
async function compressAnswers(fastify: FastifyInstance): Promise<void> {
  fastify.addHook('onSend', (request, _reply, payload, done) => {
    // By this header a client declines compression, and the plugin skips it.
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    const isStream = payload instanceof Readable;
    if (isStream || (isWhole && Buffer.byteLength(payload) > largestCompressed))
      request.headers['x-no-compression'] = 'large';
    done();
  });
  await fastify.register(compress, compression);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
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
