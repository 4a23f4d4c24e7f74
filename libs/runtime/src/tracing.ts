import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { z } from 'zod';
import { withTimeLimit } from './time-limit.js';

/** Configuration of tracing; the OTLP exporter reads further standard variables. */
export const tracingConfig = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'OpenTelemetry collector that traces are sent to (OTLP over HTTP). Not set: no traces.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of sampled traces; a trace from another process keeps its sampling decision.'),
  OTEL_SDK_DISABLED: z
    .stringbool()
    .default(false)
    .describe('Disables traces, regardless of other variables.'),
});
export type TracingConfig = z.output<typeof tracingConfig>;

const tracer = trace.getTracer('podcast-sync');

/** Time limit for sending the last spans of a stopping process, in milliseconds. */
const flushLimitMs = 2_000;

/**
 * Starts sending traces, if configured. Otherwise the SDK is not loaded, and spans cost almost
 * nothing.
 *
 * @returns a function that sends the remaining spans and ends tracing. It never rejects, because a
 *   missing collector must not affect the app.
 */
export async function startTracing(
  app: string,
  config: Partial<TracingConfig & { VERSION: string }>,
): Promise<() => Promise<void>> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined || config.OTEL_SDK_DISABLED)
    return async () => undefined;
  const [
    sdk,
    { OTLPTraceExporter },
    { AsyncLocalStorageContextManager },
    { resourceFromAttributes },
    core,
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/core'),
  ]);
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `podcast-sync-${app}`,
      'service.version': config.VERSION ?? '',
    }),
    sampler: new sdk.ParentBasedSampler({
      root: new sdk.TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG ?? 1),
    }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return () => withTimeLimit(provider.shutdown(), flushLimitMs).catch(() => undefined);
}

/** Returns the trace in W3C headers as a parent of spans; an empty context without a trace. */
export function traceOf(headers: Readonly<Record<string, unknown>>): Context {
  return propagation.extract(ROOT_CONTEXT, headers);
}

/** Returns the current trace as W3C headers `traceparent` and `tracestate`; `{}` without one. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** Starts a span that the caller must end, for work that starts and ends in different functions. */
export function beginSpan(
  name: string,
  kind: SpanKind,
  parent: Context,
): { span: Span; context: Context } {
  const span = tracer.startSpan(name, { kind }, parent);
  return { span, context: trace.setSpan(parent, span) };
}

/** Runs a function in a span, and marks the span as failed if the function throws. */
export function inSpan<Result>(
  name: string,
  { parent = context.active(), ...options }: SpanOptions & { parent?: Context },
  run: () => Promise<Result>,
): Promise<Result> {
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await run();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message });
      throw error;
    } finally {
      span.end();
    }
  });
}
