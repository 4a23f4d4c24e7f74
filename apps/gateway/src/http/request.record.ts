import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { beginSpan, httpMetrics, type Log, traceOf } from '#runtime';
import { type Context, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request, and the trace to call services in. */
    trace: { span: Span; context: Context };
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
