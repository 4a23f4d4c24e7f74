import { registerGauge, oneCounter, secondsBuckets } from '#runtime';
import { Histogram, register } from 'prom-client';

/** Registers the histogram of requests. Its label `route` is a pattern, without ids of requests. */
export function httpMetrics(): (
  route: string,
  method: string,
  status: number,
  seconds: number,
) => void {
  const name = 'podcast_sync_http_request_duration_seconds';
  // Reuses the histogram that another app of this process has registered.
  const durations =
    (register.getSingleMetric(name) as Histogram<'method' | 'route' | 'status'> | undefined) ??
    new Histogram({
      name,
      help: 'HTTP requests by method, route and status, from the first byte to the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: secondsBuckets,
    });
  return (route, method, status, seconds) => durations.observe({ method, route, status }, seconds);
}

/** Registers the counter of missing and rejected credentials, by reason. */
export function authenticationFailureMetrics(): (reason: string) => void {
  const failureCounter = oneCounter(
    'podcast_sync_refused_credentials_total',
    'Credentials that were missing or not accepted, by reason.',
    ['reason'],
  );
  return (reason) => failureCounter.inc({ reason });
}

/** Registers the counter of rejected and of unchecked requests, by rate limit. */
export function rateLimitMetrics(): (policy: string, outcome: 'limited' | 'unchecked') => void {
  const outcomeCounter = oneCounter(
    'podcast_sync_rate_limit_total',
    'Requests above a rate limit (`limited`), or uncounted without Redis (`unchecked`).',
    ['policy', 'outcome'],
  );
  return (policy, outcome) => outcomeCounter.inc({ policy, outcome });
}

/** Registers the metric of bytes that the requests of this process keep in memory. */
export function watchHeldBytes(read: () => number): void {
  registerGauge(
    'podcast_sync_held_bytes',
    'Bytes of request bodies and of unsent answers in memory (limit: `MAX_HELD_BYTES`).',
    read,
  );
}
