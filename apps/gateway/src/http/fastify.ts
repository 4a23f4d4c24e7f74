import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import { Failure } from '#contracts';
import { type Log, refusalMetrics } from '#runtime';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator, Caller } from '../auth/authenticator.js';
import { Refusal } from '../auth/refusal.js';
import type { GatewayConfig } from '../gateway.config.js';
import { type ErrorAnswer, errorBody, failureAnswers, httpAnswers } from './failure.responses.js';
import { recordRequests, requestId } from './request.record.js';
import { isOpen, methodsOf } from './routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set before any handler runs, but on the paths that are open to all. */
    caller?: Caller;
  }
}

/** What a web page may send and read (docs/interface.md). */
const corsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'Idempotency-Key'],
  exposedHeaders: ['Sync-Timestamp', 'ETag', 'Ignored-Parameters', 'Retry-After', 'X-Request-Id'],
  maxAge: 600,
};

/** Longest request head, in bytes, before 431. */
const maxHeaderBytes = 16_384;
/** Time to send the head and the whole request, in milliseconds, before 408. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 60_000;

/**
 * The HTTP server, before Nest has its first look at a request: credential first, then whether there is such a route,
 * and only then the body. Whatever arrives is answered with the interface's error body.
 */
export function createFastify(config: GatewayConfig, authenticator: Authenticator, log: Log): FastifyAdapter {
  const admit = admission(authenticator, log);
  const adapter = new FastifyAdapter({
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout: requestTimeoutMs,
    // A request without a Host is answered below, with the interface's body.
    http: {
      requireHostHeader: false,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: 1_000,
    },
    // A guid that is too long is a guid that is wrong, not a route that is missing.
    routerOptions: { maxParamLength: maxHeaderBytes },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    genReqId: requestId,
    clientErrorHandler: answerBrokenHttp,
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      // A path that can't be decoded: still the credential first.
      void admit(request).then(
        () => send(reply, failureAnswers.invalid),
        (failure: unknown) => send(reply, answerFor(failure, log)),
      );
    },
  });
  const fastify = adapter.getInstance();
  recordRequests(fastify, log);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseJson(body as Buffer));
    } catch {
      done(new Failure('invalid'));
    }
  });
  answerOddities(fastify.server);
  if (config.CORS_ORIGINS) {
    const origin = config.CORS_ORIGINS;
    // An OPTIONS that is no preflight is a method like any other.
    fastify.register(cors, () => (request: FastifyRequest, use: (error: null, options: FastifyCorsOptions) => void) => {
      use(null, { ...corsOptions, origin, preflight: request.headers['access-control-request-method'] !== undefined });
    });
  }
  // After CORS, so that a browser can read a refusal, and preflights need no credential.
  fastify.after(() => fastify.addHook('onRequest', gate(admit, log)));
  return adapter;
}

/** Who asks, and whether there is such a route: before anything else of the request is looked at. */
function gate(admit: Admission, log: Log) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // RFC 9112, 3.2: a request of HTTP/1.1 without a Host is none.
    if (request.headers.host === undefined && request.raw.httpVersionMinor > 0) {
      return send(reply.header('connection', 'close'), httpAnswers[400] as ErrorAnswer);
    }
    const path = request.url.split('?', 1)[0] as string;
    if (isOpen(request.method, path)) return undefined;
    try {
      await admit(request);
    } catch (failure) {
      return send(reply, answerFor(failure, log, request.headers.authorization !== undefined));
    }
    if (!request.is404 && request.method !== 'OPTIONS') return undefined;
    const methods = methodsOf(path);
    if (methods) return send(reply.header('allow', methods.join(', ')), failureAnswers.invalid);
    return send(reply, failureAnswers.not_found);
  };
}

/** The answer to anything that was thrown on the way; what is a fault of ours is logged. */
export function answerFor(error: unknown, log: Log, sentCredential = false): ErrorAnswer {
  if (error instanceof Failure) {
    if (failureAnswers[error.code].status >= 500)
      log[error.code === 'unavailable' ? 'debug' : 'error']({ err: error }, error.code);
    if (error.code === 'unauthorized' && sentCredential) {
      return { ...failureAnswers.unauthorized, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } };
    }
    return failureAnswers[error.code];
  }
  const { statusCode, status = statusCode } = error as { statusCode?: number; status?: number };
  const known = httpAnswers[status ?? 500];
  if (known && status !== 400) return known;
  // What Fastify and Nest call a bad request or an unsupported media type is input that could not be validated.
  if (status !== undefined && status >= 400 && status < 500) return failureAnswers.invalid;
  log.error({ err: error }, 'a request failed on a fault of ours');
  return failureAnswers.internal;
}

export function send(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .type('application/json; charset=utf-8')
    .send(errorBody(answer));
}

/** Names the caller of a request. @throws Failure */
type Admission = (request: FastifyRequest) => Promise<void>;

function admission(authenticator: Authenticator, log: Log): Admission {
  const count = refusalMetrics();
  return async (request) => {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const scope = reads ? 'read:subscriptions' : 'write:subscriptions';
    try {
      request.caller = await authenticator.authenticate(request.headers.authorization, scope);
    } catch (error) {
      if (error instanceof Refusal) {
        const { reason, cause } = error;
        count(reason);
        // Of the cause only what it is: its message could quote the token.
        const detail = (cause as { code?: string } | undefined)?.code;
        log[reason === 'missing' ? 'debug' : 'info'](
          { requestId: request.id, reason, detail },
          'a credential was refused',
        );
      }
      throw error;
    }
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Deeper than anything that the interface takes, and far from what a recursive function can't follow. */
const maxDepth = 32;

/** JSON in valid UTF-8, not too deep. A key `__proto__` stays an ordinary one, as JSON.parse leaves it. */
function parseJson(body: Buffer): unknown {
  if (depth(body) > maxDepth) throw new Error('the JSON is nested too deep');
  return JSON.parse(utf8.decode(body));
}

/** How deep arrays and objects are nested in what may be JSON. */
function depth(body: Buffer): number {
  const [quote, backslash] = [0x22, 0x5c];
  let [now, deepest, inString] = [0, 0, false];
  for (let index = 0; index < body.length; index++) {
    const byte = body[index] as number;
    if (inString) {
      if (byte === backslash) index++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    // [ and { differ in one bit, and so do ] and }.
    else if ((byte | 0x20) === 0x7b) deepest = Math.max(deepest, ++now);
    else if ((byte | 0x20) === 0x7d) now--;
  }
  return deepest;
}

const brokenHttp: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Requests that Node answers by itself, or not at all. */
function answerOddities(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const answer = httpAnswers[400] as ErrorAnswer;
    const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
    response.writeHead(answer.status, headers).end(JSON.stringify(errorBody(answer)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerBrokenHttp(new Error('CONNECT'), socket));
}

/** What is not even HTTP gets an answer all the same, and its connection closes. */
function answerBrokenHttp(error: Error & { code?: string }, socket: Socket & { _httpMessage?: ServerResponse }): void {
  // Into an answer that is on its way, nothing can be said.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const answer = httpAnswers[brokenHttp[error.code ?? ''] ?? 400] as ErrorAnswer;
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
