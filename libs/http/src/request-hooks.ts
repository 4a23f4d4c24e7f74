import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Context, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { httpMetrics } from './http.metrics.js';
import { beginSpan, type Log, traceOf } from '#runtime';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Span of the request, and the context in which its calls to services are traced. */
    trace: { span: Span; context: Context };
    /** End of the request; absent for a path that cannot be decoded, for which no hook runs. */
    end?: RequestEnd;
    /** Route pattern of a request that a listener of Node answers; absent for other requests. */
    nodeRoute?: string;
    /** Time from the request to the start of a streamed answer, in ms; absent for other answers. */
    streamStartMs?: number;
  }
}

/** Accepted values of `X-Request-Id`: short, and harmless in logs and shells. */
const validRequestId = /^[\w.:-]{1,128}$/;

/** Returns the correlation id of a request: a valid `X-Request-Id`, else a new UUID. */
export function correlationId(request: IncomingMessage): string {
  const id = request.headers['x-request-id'];
  return typeof id === 'string' && validRequestId.test(id) ? id : randomUUID();
}

/**
 * Records every request: id in the answer, log line, duration in the metrics, and span in the
 * client's trace or a new one. Records the route and never the path, which can contain names of
 * users and devices, feed URLs with passwords, and secrets.
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
    const route = getRoute(request);
    const status = reply.statusCode;
    // Observes a stream only until its start, because its duration depends on the client.
    observe(route, method, status, (request.streamStartMs ?? reply.elapsedTime) / 1_000);
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { span } = request.trace;
    log.info(
      { correlationId: id, method, route, status, ms, trace_id: getTraceId(span) },
      'request answered',
    );
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

/** Returns the route pattern of a request; `none` without a route. */
function getRoute({ is404, nodeRoute, routeOptions }: FastifyRequest): string {
  return nodeRoute ?? ((is404 ? undefined : routeOptions.url) || 'none');
}

/** Returns the trace id of a sampled span; `undefined` for other spans. */
function getTraceId(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/**
 * The end of a request: its answer was sent, or its connection was closed. Each request has one. It
 * is not an `AbortSignal`, because that would take ten times as much CPU time.
 */
export class RequestEnd {
  private readonly listeners = new Set<() => void>();
  private hasEnded = false;

  get reached(): boolean {
    return this.hasEnded;
  }

  /**
   * Calls `listener` when the request ends, or never if it has already ended. Returns a function
   * that removes the listener.
   */
  onReached(listener: () => void): () => void {
    if (!this.hasEnded) this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Marks the request as ended and calls the listeners. Has no effect on an ended request. */
  reach(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }
}

/**
 * Sets `request.end` of each request. The events of Node do not suffice. If a connection is lost,
 * Node closes only the answer that is being sent, without an event for the pipelined requests
 * behind it.
 */
export function trackEnds(fastify: FastifyInstance): void {
  const requestsBySocket = new WeakMap<Socket, Set<RequestEnd>>();
  const getOpenRequests = (socket: Socket) => {
    const existing = requestsBySocket.get(socket);
    if (existing) return existing;
    const openRequests = new Set<RequestEnd>();
    requestsBySocket.set(socket, openRequests);
    socket.once('close', () => openRequests.forEach((end) => end.reach()));
    return openRequests;
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const openRequests = getOpenRequests(request.raw.socket);
    const end = new RequestEnd();
    openRequests.add(end);
    reply.raw.once('close', () => {
      openRequests.delete(end);
      end.reach();
    });
    request.end = end;
    done();
  });
}

/** Default headers of answers: no type sniffing, no referrer, no embedding in other sites. */
const defaultHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Returns a function that sets security headers. The headers of `appHeaders` take precedence. */
export function securityHeaders(
  publicUrl: string | undefined,
  appHeaders: (request: FastifyRequest) => Readonly<Record<string, string>>,
): (request: FastifyRequest, reply: FastifyReply) => void {
  // Adds HSTS only with a public https URL, because HSTS requires that TLS is always available.
  const hstsHeaders = publicUrl?.startsWith('https:') && {
    'strict-transport-security': 'max-age=31536000',
  };
  const commonHeaders = { ...defaultHeaders, ...hstsHeaders };
  return (request, reply) => void reply.headers(commonHeaders).headers(appHeaders(request));
}
