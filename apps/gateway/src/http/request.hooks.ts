import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Context, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { beginSpan, httpMetrics, type Log, traceOf } from '#runtime';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../gateway.config.js';
import { isOpen } from './routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request, and the trace to call services in. */
    trace: { span: Span; context: Context };
    /** Aborted when the answer was sent or the connection is gone, whichever comes first. Absent where no hook ran. */
    ended?: AbortSignal;
  }
}

/** The form of an `X-Request-Id` that is taken over: short, and harmless in logs and shells. */
const saneId = /^[\w.:-]{1,128}$/;

/** Characters of a path that are logged at most; every route is shorter. */
const loggedPath = 512;

/** The id of a request: its `X-Request-Id` if that has a sane form, else a new one. */
export function requestId(request: IncomingMessage): string {
  const id = request.headers['x-request-id'];
  return typeof id === 'string' && saneId.test(id) ? id : randomUUID();
}

/**
 * Records every request: its id in the answer, a line in the log, its duration in the metrics, and a span in the
 * client's trace or a new one. Paths are logged without their queries, and cut.
 */
export function recordRequests(fastify: FastifyInstance, log: Log): void {
  const observe = httpMetrics();
  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    request.trace = beginSpan(request.method, SpanKind.SERVER, traceOf(request.headers));
  });
  fastify.addHook('onResponse', async (request, reply) => {
    const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
    const { method, id } = request;
    const path = request.url.slice(0, loggedPath).split('?', 1)[0];
    const status = reply.statusCode;
    observe(route, method, status, reply.elapsedTime / 1_000);
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { span } = request.trace;
    log.info({ requestId: id, method, path, status, ms, trace_id: traceId(span) }, 'request');
    span.updateName(`${method} ${route}`);
    span.setAttributes({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status });
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

function traceId(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/**
 * Sets `request.ended` of each request. Node does not suffice: when a connection is lost, it closes the one answer that
 * is being sent and says nothing about the pipelined requests behind it.
 */
export function trackEnds(fastify: FastifyInstance): void {
  const connections = new WeakMap<Socket, Set<() => void>>();
  const openOn = (socket: Socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const open = new Set<() => void>();
    connections.set(socket, open);
    socket.once('close', () => open.forEach((end) => end()));
    return open;
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const open = openOn(socket);
    const controller = new AbortController();
    const end = () => {
      // With a reason of its own, as the usual one is an exception with a stack, made for each request.
      if (open.delete(end)) controller.abort('the request has ended');
    };
    open.add(end);
    reply.raw.once('close', end);
    request.ended = controller.signal;
    done();
  });
}

/** On every answer: no sniffing of types, no referrer, no embedding in other sites. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
/** On answers of the API: no scripts, no frames, no caching; lists allow revalidation (list.responder.ts). */
const api = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'cache-control': 'no-store' };
/** On open paths: the reference page has scripts of its own and inline styles. */
const open = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
};

/** Sets the security headers of an answer. */
export function securityHeaders(config: GatewayConfig): (request: FastifyRequest, reply: FastifyReply) => void {
  // Only a public URL with TLS allows the promise that TLS is always there.
  const transport = config.PUBLIC_URL?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' };
  const [forApi, forOpen] = [api, open].map((kind) => ({ ...always, ...transport, ...kind })) as [object, object];
  return (request, reply) => {
    void reply.headers(isOpen(request.method, request.url.split('?', 1)[0] as string) ? forOpen : forApi);
  };
}
