import { registerCounter, registerGauge, secondsBuckets } from '#runtime';
import { Gauge, Histogram, register } from 'prom-client';
import type { ClientCounters } from './client/stream-client.js';
import type { ReplicaCounters } from './server/replica-options.js';

/** Registers the histogram of handled requests. @returns a function that records a request. */
export function handlerMetrics(): (contract: string, outcome: string, ms: number) => void {
  const durations = new Histogram({
    name: 'podcast_sync_rpc_handler_duration_seconds',
    help: 'Requests handled by a service, by contract and outcome.',
    labelNames: ['contract', 'outcome'],
    buckets: secondsBuckets,
  });
  return (contract, outcome, ms) => durations.observe({ contract, outcome }, ms / 1_000);
}

/** Registers the metrics of a service's replica. */
export function watchReplica(read: () => ReplicaCounters | undefined): void {
  registerGauge(
    'podcast_sync_transport_handlers_in_flight',
    'Requests that this replica works on.',
    () => read()?.inFlight,
  );
  registerCounter(
    'podcast_sync_transport_handled_total',
    'Requests that this replica answered.',
    () => read()?.handledRequests,
  );
  registerCounter(
    'podcast_sync_transport_expired_total',
    'Requests that were not run because their deadline had passed.',
    () => read()?.expiredRequests,
  );
  registerCounter(
    'podcast_sync_transport_takeovers_total',
    'Requests taken over from another replica.',
    () => read()?.takeovers,
  );
  registerCounter(
    'podcast_sync_transport_dead_letters_total',
    'Requests that became dead letters.',
    () => read()?.deadLetters,
  );
  registerCounter(
    'podcast_sync_transport_reconnects_total',
    'Connections to Redis that were lost.',
    () => read()?.lostConnections,
  );
}

/** Registers the metrics of a gateway's client of the services. */
export function watchClient(read: () => ClientCounters): void {
  registerGauge(
    'podcast_sync_transport_calls_in_flight',
    'Calls that wait for an answer.',
    () => read().inFlight,
  );
  registerCounter(
    'podcast_sync_transport_calls_total',
    'Calls that were sent.',
    () => read().sentCalls,
  );
  registerCounter(
    'podcast_sync_transport_refused_total',
    'Calls that failed immediately as unavailable.',
    () => read().rejectedCalls,
  );
  registerCounter(
    'podcast_sync_transport_timeouts_total',
    'Calls that ended by their deadline.',
    () => read().timedOutCalls,
  );
  registerCounter(
    'podcast_sync_transport_late_replies_total',
    'Replies that arrived after the deadline of their call.',
    () => read().lateReplies,
  );
  registerCounter(
    'podcast_sync_transport_reconnects_total',
    'Connections to Redis that were lost.',
    () => read().lostConnections,
  );
  register.registerMetric(
    new Gauge({
      registers: [],
      name: 'podcast_sync_transport_backlog_age_seconds',
      help: 'Time that the oldest unread request of a service has waited.',
      labelNames: ['service'],
      collect() {
        for (const [service, ms] of Object.entries(read().backlogMs))
          this.set({ service }, ms / 1_000);
      },
    }),
  );
}
