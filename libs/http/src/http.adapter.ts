import compress from '@fastify/compress';
import cookie from '@fastify/cookie';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { JsonText } from '#contracts';
import type { Log } from '#runtime';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
} from 'fastify';
import { type BodyKind, type BodyOptions, parseBodies } from './bodies.js';
import type { HttpConfig } from './http.config.js';
import { Admission, type AdmissionOptions } from './admission.js';
import { httpAnswers } from './errors.js';
import { watchHeldBytes } from './http.metrics.js';
import { hasValidHost, ownHost } from './own.host.js';
import { correlationId, recordRequests, securityHeaders, trackEnds } from './request.hooks.js';
import { RouteTable } from './route.table.js';

/** Compression of JSON and OPML answers. See docs/design/security.md for its safety. */
const compression = {
  encodings: ['br' as const, 'gzip' as const],
  threshold: 1_024,
  customTypes: /^(application\/json|text\/x-opml)\b/,
  // Request bodies are never decompressed, because one could grow a thousandfold.
  globalDecompression: false,
};

/**
 * Maximum size in bytes of an answer that is compressed. To compress a larger answer would take as
 * much CPU time as a hundred polls. No page of ordinary episodes is larger. Streams are not
 * compressed.
 */
export const maxCompressedBytes = 524_288;

/** A listener of Node that answers a request instead of a route of Fastify. */
export interface NodeHandler {
  /** Pattern of the request's path, for logs and metrics. */
  readonly route: string;
  /**
   * Answers the request. It reads the body itself; these bytes do not count towards
   * `MAX_HELD_BYTES`. The response already has the headers of the app.
   */
  readonly listen: RequestListener;
}

/** Options of an HTTP app. Admission runs after CORS, so that a browser can read a refusal. */
export interface HttpOptions extends AdmissionOptions {
  readonly config: HttpConfig;
  readonly log: Log;
  /** Returns further headers of an answer: at least `content-security-policy`. */
  headers(request: FastifyRequest): Readonly<Record<string, string>>;
  /** Kinds of bodies that are read. A body of another kind is answered as invalid input. */
  readonly bodies: readonly BodyKind[];
  /** Called with each JSON or XML body before it is parsed. */
  readonly onBody?: BodyOptions['onBody'];
  /** CORS options for web pages of other origins. By default they have no access. */
  readonly cors?: FastifyCorsOptions;
  /** Enables `request.cookies` and `reply.setCookie`. */
  readonly cookies?: boolean;
  /** Returns the listener that answers a request after admission; `undefined` to use a route. */
  readonly handOver?: (request: FastifyRequest) => NodeHandler | undefined;
  /** Rewrites the URL of a request before routing. */
  readonly rewrite?: (url: string) => string;
}

/**
 * Creates the Nest adapter of an HTTP app, which limits, records and admits requests before routing
 * (ADR 20). Apps differ only in their options. {@link serveApps} runs the server.
 */
export async function createHttpAdapter(options: HttpOptions): Promise<FastifyAdapter> {
  const { config, log, limiter, errors, rewrite = (url) => url } = options;
  const isOwn = ownHost(config);
  const protect = securityHeaders(config.PUBLIC_URL, options.headers);
  const adapter = new FastifyAdapter({
    bodyLimit: config.MAX_BODY_BYTES,
    // A guid that is too long is answered as an invalid guid (405) and not as a missing route
    // (404). Handlers parse queries themselves.
    routerOptions: { maxParamLength: config.MAX_HEADER_BYTES, querystringParser: () => ({}) },
    trustProxy: config.TRUSTED_PROXIES ?? false,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: correlationId,
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
  // Fastify sends a Buffer unchanged; only its types require a string.
  fastify.setReplySerializer(
    (body) => (body instanceof JsonText ? body.text : JSON.stringify(body)) as string,
  );
  // Without this handler, routes of plugins would answer errors with the texts of Fastify.
  fastify.addHook('onRoute', (route) => {
    route.errorHandler ??= (error, request, reply) => {
      const to = log.child({ correlationId: request.id });
      errors.send(reply, errors.answerTo(error, request, to));
    };
  });
  trackEnds(fastify);
  recordRequests(fastify, log);
  parseBodies(fastify, {
    kinds: options.bodies,
    limit: config.MAX_BODY_BYTES,
    onBody: options.onBody,
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    protect(request, reply);
    if (!hasValidHost(request.raw)) {
      errors.send(reply.header('connection', 'close'), httpAnswers[400]);
      return;
    }
    if (request.headers.host !== undefined && !isOwn(request.hostname))
      errors.send(reply, httpAnswers[421]);
    else done();
  });
  if (options.cors) allowOrigins(fastify, options.cors);
  if (options.cookies) await fastify.register(cookie);
  fastify.after(() => {
    fastify.addHook('onRequest', async (request, reply) => {
      const handler = options.handOver?.(request);
      if (!(await admission.admit(request, reply, handler === undefined))) return reply;
      if (handler) handOver(handler, request, reply);
      return undefined;
    });
  });
  await compressAnswers(fastify);
  return adapter;
}

function handOver(
  { route, listen }: NodeHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  request.nodeRoute = route;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  listen(request.raw, reply.raw);
}

function allowOrigins(fastify: FastifyInstance, options: FastifyCorsOptions): void {
  fastify.register(
    cors,
    () => (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => {
      use(null, { ...options, preflight: isPreflight(request) });
    },
  );
}

/** Adds compression. Must run before routes are added, because the plugin configures each route. */
async function compressAnswers(fastify: FastifyInstance): Promise<void> {
  fastify.addHook('onSend', (request, _reply, payload, done) => {
    // The plugin does not compress answers to requests with this header.
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    const isStream = payload instanceof Readable;
    if (isStream || (isWhole && Buffer.byteLength(payload) > maxCompressedBytes))
      request.headers['x-no-compression'] = 'large';
    done();
  });
  await fastify.register(compress, compression);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
  });
}

/** Returns true for a CORS preflight (Fetch, 3.2.2); others are ordinary OPTIONS requests. */
function isPreflight({ headers }: FastifyRequest): boolean {
  return Boolean(headers.origin && headers['access-control-request-method']);
}

/** Removes the length from answers to HEAD, as GET might compress them (RFC 9110, 8.6). */
const withoutLength: onSendAsyncHookHandler = async (request, reply, payload) => {
  if (request.headers['accept-encoding'] !== undefined) reply.removeHeader('content-length');
  return payload;
};
