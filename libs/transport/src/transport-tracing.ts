import { beginSpan, traceHeaders, traceOf } from '#runtime';
import { context, type Span, SpanKind } from '@opentelemetry/api';
import type { StreamClient } from './client/stream-client.js';
import type { CallContext, StreamServer } from './server/stream-server.js';

/** Makes a client add the current trace to the metadata of each call. */
export function traceCalls(client: StreamClient): void {
  client.setOnDispatchHook((packet) => {
    const headers = traceHeaders();
    if (headers['traceparent'])
      packet.metadata = { ...(packet.metadata as object | undefined), ...headers };
  });
}

/** Makes a server run each request in a span of the caller's trace. */
export function traceHandlers(server: StreamServer): void {
  const spans = new WeakMap<object, Span>();
  server.setOnProcessingStartHook((_transport, call, done) => {
    const { pattern } = call as CallContext;
    const { span, context: spanContext } = beginSpan(
      pattern,
      SpanKind.SERVER,
      traceOf((call as CallContext).getMetadata()),
    );
    spans.set(call as object, span);
    void context.with(spanContext, done);
  });
  server.setOnProcessingEndHook((_transport, call) => spans.get(call as object)?.end());
}
