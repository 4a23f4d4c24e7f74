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
import { hasValidHost, ownHostCheck } from './own-host.js';
import { correlationId, recordRequests, securityHeaders, trackEnds } from './request-hooks.js';
import { RouteTable } from './route-table.js';

/** Options of the compression of JSON and OPML answers (docs/design/security.md). */
const compression = {
  encodings: ['br' as const, 'gzip' as const],
  threshold: 1_024,
  customTypes: /^(application\/json|text\/x-opml)\b/,
  // Never decompresses request bodies, because they could grow a thousandfold.
  globalDecompression: false,
};

/**
 * Size in bytes above which an answer is not compressed. Pages of ordinary episodes are smaller.
 * The compression of a larger answer would take as much CPU time as a hundred polls.
 */
export const maxCompressedBytes = 524_288;

/** A Node request listener that answers instead of a Fastify route, e.g. the token issuer's. */
export interface NodeHandler {
  /** Pattern of the request's path, for logs and metrics. */
  readonly route: string;
  /**
   * Answers the request, and reads its body itself. The bytes of the body do not count towards
   * `MAX_HELD_BYTES`. The response already has the headers of the app.
   */
  readonly listen: RequestListener;
}

/** Options of an HTTP app. Admission runs after CORS, so that web apps can read error answers. */
export interface HttpOptions extends AdmissionOptions {
  readonly config: HttpConfig;
  readonly log: Log;
  /** Returns the app's headers of an answer: at least `content-security-policy`. */
  headers(request: FastifyRequest): Readonly<Record<string, string>>;
  /** Kinds of bodies that the app accepts. Others are answered as invalid input. */
  readonly bodies: readonly BodyKind[];
  /** Called with each JSON or XML body before it is parsed. */
  readonly onBody?: BodyOptions['onBody'];
  /** CORS options for web pages of other origins. By default they have no access. */
  readonly cors?: FastifyCorsOptions;
  /** Enables `request.cookies` and `reply.setCookie`. */
  readonly cookies?: boolean;
  /** Returns the listener that answers an admitted request; `undefined` for a route of the app. */
  readonly nodeHandlerFor?: (request: FastifyRequest) => NodeHandler | undefined;
  /** Rewrites the URL of a request before routing. */
  readonly rewrite?: (url: string) => string;
}

/**
 * Creates the Nest adapter of an HTTP app, which limits, records and admits requests before routing
 * (ADR 20). Apps differ only in their options. {@link serveApps} runs the server.
 */
export async function createHttpAdapter(options: HttpOptions): Promise<FastifyAdapter> {
  const { config, log, limiter, errors, rewrite = (url) => url } = options;
  const isOwnHost = ownHostCheck(config);
  const setSecurityHeaders = securityHeaders(config.PUBLIC_URL, options.headers);
  const adapter = new FastifyAdapter({
    bodyLimit: config.MAX_BODY_BYTES,
    // Accepts long parameters, so that a long guid is answered as invalid input and not with 404.
    // Parses no query, because handlers do.
    routerOptions: { maxParamLength: config.MAX_HEADER_BYTES, querystringParser: () => ({}) },
    trustProxy: config.TRUSTED_PROXIES ?? false,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: correlationId,
    rewriteUrl: ({ url = '/' }) => rewrite(url),
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // Adds the headers here, because Fastify runs no hook for a path that cannot be decoded.
      setSecurityHeaders(request, reply.header('x-request-id', request.id));
      void admission.reject(request, reply);
    },
  });
  const fastify = adapter.getInstance();
  const admission = new Admission(options, new RouteTable(fastify), log);
  watchHeldBytes(() => limiter.heldBytes);
  // Fastify sends a Buffer unchanged, although its types require a string.
  fastify.setReplySerializer(
    (body) => (body instanceof JsonText ? body.text : JSON.stringify(body)) as string,
  );
  // Answers errors in routes of plugins, which Fastify would answer with its own texts.
  fastify.addHook('onRoute', (route) => {
    route.errorHandler ??= (error, request, reply) => {
      const requestLog = log.child({ correlationId: request.id });
      errors.send(reply, errors.answerTo(error, request, requestLog));
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
    setSecurityHeaders(request, reply);
    if (!hasValidHost(request.raw)) {
      errors.send(reply.header('connection', 'close'), httpAnswers[400]);
      return;
    }
    if (request.headers.host !== undefined && !isOwnHost(request.hostname))
      errors.send(reply, httpAnswers[421]);
    else done();
  });
  if (options.cors) allowOrigins(fastify, options.cors);
  if (options.cookies) await fastify.register(cookie);
  fastify.after(() => {
    fastify.addHook('onRequest', async (request, reply) => {
      const handler = options.nodeHandlerFor?.(request);
      if (!(await admission.admit(request, reply, handler === undefined))) return reply;
      if (handler) passToNode(handler, request, reply);
      return undefined;
    });
  });
  await compressAnswers(fastify);
  return adapter;
}

/** Passes a request to a request listener of Node, with the headers already set on the reply. */
function passToNode(
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

/** Registers the CORS plugin. It adds headers to answers, and answers preflights. */
function allowOrigins(fastify: FastifyInstance, options: FastifyCorsOptions): void {
  fastify.register(
    cors,
    () =>
      (request: FastifyRequest, setOptions: (error: null, options: FastifyCorsOptions) => void) => {
        setOptions(null, { ...options, preflight: isPreflight(request) });
      },
  );
}

/** Registers compression. Must run before routes are added, as the plugin configures new routes. */
async function compressAnswers(fastify: FastifyInstance): Promise<void> {
  fastify.addHook('onSend', (request, _reply, payload, done) => {
    // Compresses no streams and no large answers. The plugin reads this from a request header.
    const hasKnownLength = typeof payload === 'string' || Buffer.isBuffer(payload);
    const isStream = payload instanceof Readable;
    if (isStream || (hasKnownLength && Buffer.byteLength(payload) > maxCompressedBytes))
      request.headers['x-no-compression'] = 'large';
    done();
  });
  await fastify.register(compress, compression);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], removeContentLength].flat();
  });
}

/** Returns true if an OPTIONS request is a CORS preflight (Fetch, 3.2.2). */
function isPreflight({ headers }: FastifyRequest): boolean {
  return Boolean(headers.origin && headers['access-control-request-method']);
}

/**
 * Removes `content-length` from answers to HEAD, because the answer to GET can be compressed and
 * then has another length (RFC 9110, 8.6).
 */
const removeContentLength: onSendAsyncHookHandler = async (request, reply, payload) => {
  if (request.headers['accept-encoding'] !== undefined) reply.removeHeader('content-length');
  return payload;
};
