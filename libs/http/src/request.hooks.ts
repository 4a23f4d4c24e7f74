import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Context, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { httpMetrics } from './http.metrics.js';
import { beginSpan, type Log, traceOf } from '#runtime';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestEnd } from './request.end.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request, and the trace to call services in. */
    trace: { span: Span; context: Context };
    /** When its answer was sent or the connection is gone, whichever comes first. Absent where no hook ran. */
    end?: RequestEnd;
    /** Whether a listener of Node answers it in the place of a route. */
    isHandedOver?: boolean;
    /** Where the answer goes on for as long as its client likes: when it began, in milliseconds since the request. */
    begunMs?: number;
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
 * client's trace or a new one. Paths are logged without their queries, cut, and without secrets: where a route has a
 * parameter `:secret` or `:token`, by that route.
 */
export function recordRequests(fastify: FastifyInstance, log: Log): void {
  const observe = httpMetrics();
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    request.trace = beginSpan(request.method, SpanKind.SERVER, traceOf(request.headers));
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const { method, id } = request;
    const { route, path } = namesOf(request);
    const status = reply.statusCode;
    // How long a stream lasted says nothing of how fast this process is.
    observe(route, method, status, (request.begunMs ?? reply.elapsedTime) / 1_000);
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { span } = request.trace;
    log.info({ requestId: id, method, path, status, ms, trace_id: traceId(span) }, 'request');
    span.updateName(`${method} ${route}`);
    span.setAttributes({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status });
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
    done();
  });
}

/** A request by its route, for metrics, and by its path, for the log. */
function namesOf({ is404, isHandedOver, routeOptions, url }: FastifyRequest): { route: string; path: string } {
  const path = url.slice(0, loggedPath).split('?', 1)[0] as string;
  if (isHandedOver) return { route: withoutIds(path), path: withoutIds(path) };
  if (is404 || routeOptions.url === undefined) return { route: 'none', path: withoutIds(path) };
  return { route: routeOptions.url, path: secretParameter.test(routeOptions.url) ? routeOptions.url : path };
}

const secretParameter = /:(secret|token)\b/;

/** A path without what could be an id or a secret: that has a certain length, and letters or digits that no name has. */
function withoutIds(path: string): string {
  return path.replace(/[\w-]{16,}/g, (word) => (/[A-Z\d]/.test(word) ? '***' : word));
}

function traceId(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/**
 * Sets `request.end` of each request. Node does not suffice: when a connection is lost, it closes the one answer that is
 * being sent and says nothing about the pipelined requests behind it.
 */
export function trackEnds(fastify: FastifyInstance): void {
  const connections = new WeakMap<Socket, Set<RequestEnd>>();
  const openOn = (socket: Socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const open = new Set<RequestEnd>();
    connections.set(socket, open);
    socket.once('close', () => open.forEach((end) => end.reach()));
    return open;
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const open = openOn(request.raw.socket);
    const end = new RequestEnd();
    open.add(end);
    reply.raw.once('close', () => {
      open.delete(end);
      end.reach();
    });
    request.end = end;
    done();
  });
}

/** On every answer: no sniffing of types, no referrer, no embedding in other sites. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Sets the security headers of an answer: those of all, and what `own` says of this request. */
export function securityHeaders(
  publicUrl: string | undefined,
  own: (request: FastifyRequest) => Readonly<Record<string, string>>,
): (request: FastifyRequest, reply: FastifyReply) => void {
  // Only a public URL with TLS allows the promise that TLS is always there.
  const transport = publicUrl?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' };
  const common = { ...always, ...transport };
  return (request, reply) => void reply.headers(common).headers(own(request));
}
