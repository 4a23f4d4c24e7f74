import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Context, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { httpMetrics } from './http.metrics.js';
import { beginSpan, type Log, traceOf } from '#runtime';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request, and the trace of its calls to services. */
    trace: { span: Span; context: Context };
    /** The end of the answer or the connection, whichever comes first. Absent if no hook ran. */
    end?: RequestEnd;
    /** Route pattern of a request that a listener of Node answers. Absent for other requests. */
    nodeRoute?: string;
    /** Start of a streamed answer in milliseconds since the request. Absent for other answers. */
    streamStartMs?: number;
  }
}

/** Accepted form of an `X-Request-Id`: short, and safe in logs and shells. */
const saneId = /^[\w.:-]{1,128}$/;

/** Returns the correlation id of a request: a valid `X-Request-Id`, else a new UUID. */
export function correlationId(request: IncomingMessage): string {
  const id = request.headers['x-request-id'];
  return typeof id === 'string' && saneId.test(id) ? id : randomUUID();
}

/**
 * Records every request: its id in the answer, a log line, its duration in the metrics, and a span
 * in the client's trace or a new one. Each names the route and never the path, which can contain
 * names of users and devices, feed URLs with passwords, and secrets of links.
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
    const route = routeOf(request);
    const status = reply.statusCode;
    // The duration of a stream depends on its client, not on the speed of this process.
    observe(route, method, status, (request.streamStartMs ?? reply.elapsedTime) / 1_000);
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { span } = request.trace;
    log.info({ correlationId: id, method, route, status, ms, trace_id: traceId(span) }, 'request');
    span.updateName(`${method} ${route}`);
    span.setAttributes({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
    });
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
    done();
  });
}

/** Returns the pattern of a request's route, `none` for a request without one. */
function routeOf({ is404, nodeRoute, routeOptions }: FastifyRequest): string {
  return nodeRoute ?? ((is404 ? undefined : routeOptions.url) || 'none');
}

function traceId(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/**
 * The end of a request: its answer was sent, or its connection was closed. Replaces an
 * `AbortSignal`, which takes ten times as long to use; each request has one.
 */
export class RequestEnd {
  private readonly listeners = new Set<() => void>();
  private ended = false;

  get reached(): boolean {
    return this.ended;
  }

  /**
   * Calls `listener` when the request ends; never if it has ended already. Returns a function that
   * removes the listener.
   */
  onReached(listener: () => void): () => void {
    if (!this.ended) this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Ends the request. Further calls do nothing. */
  reach(): void {
    if (this.ended) return;
    this.ended = true;
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }
}

/**
 * Sets `request.end` of each request. The events of Node do not suffice: if a connection is lost,
 * Node closes only the answer that is being sent, without an event for the pipelined requests
 * behind it.
 */
export function trackEnds(fastify: FastifyInstance): void {
  const connections = new WeakMap<Socket, Set<RequestEnd>>();
  const openOn = (socket: Socket) => {
    const existing = connections.get(socket);
    if (existing) return existing;
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

/** Default headers of answers: no type sniffing, no referrer, no embedding in other sites. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Returns a function that sets an answer's security headers. Those of `own` take precedence. */
export function securityHeaders(
  publicUrl: string | undefined,
  own: (request: FastifyRequest) => Readonly<Record<string, string>>,
): (request: FastifyRequest, reply: FastifyReply) => void {
  // HSTS requires that TLS is always available, which only a public https URL ensures.
  const transport = publicUrl?.startsWith('https:') && {
    'strict-transport-security': 'max-age=31536000',
  };
  const common = { ...always, ...transport };
  return (request, reply) => void reply.headers(common).headers(own(request));
}
