import { collectDefaultMetrics, Counter, Gauge, Histogram, register } from 'prom-client';
import type { ClientCounters, ReplicaCounters } from '#transport';

/** Buckets for durations of requests: from a cached read to the cascade of a deletion. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The process' own metrics (CPU, memory, event loop, garbage collection) and which build it is. */
export function watchProcess(app: string, version: string): void {
  // At the default of 10 ms an idle process wakes up a hundred times a second.
  collectDefaultMetrics({ eventLoopMonitoringPrecision: 50 });
  const info = new Gauge({
    name: 'podcast_sync_build_info',
    help: '1, with the app and its version as labels.',
    labelNames: ['app', 'version'],
  });
  info.set({ app, version }, 1);
}

/** HTTP requests by route pattern, so that no guid or id becomes a label. */
export function httpMetrics(): (route: string, method: string, status: number, seconds: number) => void {
  const durations = new Histogram({
    name: 'podcast_sync_http_request_duration_seconds',
    help: 'HTTP requests by method, route and status, from the first byte to the answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: secondsBuckets,
  });
  return (route, method, status, seconds) => durations.observe({ method, route, status }, seconds);
}

/** Credentials that the gateway did not accept, by reason. */
export function authenticationFailureMetrics(): (reason: string) => void {
  const refused = new Counter({
    name: 'podcast_sync_refused_credentials_total',
    help: 'Credentials that were missing or not accepted, by reason.',
    labelNames: ['reason'],
  });
  return (reason) => refused.inc({ reason });
}

/** Requests that rate limits refused, or let through unchecked; the same counter for all limits of a process. */
export function rateLimitMetrics(): (policy: string, outcome: 'limited' | 'unchecked') => void {
  const outcomes = oneCounter(
    'podcast_sync_rate_limit_total',
    'Requests over a rate limit (`limited`), or let through as Redis was away (`unchecked`), by policy.',
    ['policy', 'outcome'],
  );
  return (policy, outcome) => outcomes.inc({ policy, outcome });
}

/** Entries of uploads that were skipped, as their protocol has no way to refuse one, by reason. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skipped = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Entries of uploads to the gpodder API that were skipped, by reason.',
    ['reason'],
  );
  return (reason, entries) => skipped.inc({ reason }, entries);
}

/** Sessions of the gpodder API, whose cookies come with requests. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomes = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Cookies of sessions: `made`, `refused` as it was ended, or not looked up as the service was asked too often (`busy`).',
    ['outcome'],
  );
  return (outcome) => outcomes.inc({ outcome });
}

/** Handled requests of a service by contract and outcome: `ok` or the failure's code. */
export function handlerMetrics(): (contract: string, outcome: string, ms: number) => void {
  const durations = new Histogram({
    name: 'podcast_sync_rpc_handler_duration_seconds',
    help: 'Requests handled by a service, by contract and outcome.',
    labelNames: ['contract', 'outcome'],
    buckets: secondsBuckets,
  });
  return (contract, outcome, ms) => durations.observe({ contract, outcome }, ms / 1_000);
}

/** What a service's replica counts. */
export function watchReplica(read: () => ReplicaCounters | undefined): void {
  gauge('podcast_sync_transport_handlers_in_flight', 'Requests that this replica works on.', () => read()?.inFlight);
  counter('podcast_sync_transport_handled_total', 'Requests that this replica answered.', () => read()?.handled);
  counter(
    'podcast_sync_transport_expired_total',
    'Requests dropped unrun, past their deadline.',
    () => read()?.expired,
  );
  counter(
    'podcast_sync_transport_takeovers_total',
    'Requests taken over from another replica.',
    () => read()?.takeovers,
  );
  counter('podcast_sync_transport_dead_letters_total', 'Requests given up as dead letters.', () => read()?.deadLetters);
  counter('podcast_sync_transport_reconnects_total', 'Connections to Redis that were lost.', () => read()?.reconnects);
}

/** What a replica told gateways of users' clocks. */
export function watchHints(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_change_hints_total',
    'Commits that moved a clock: `sent` to gateways with a stream of the user, if there are any; `dropped`: Redis was away.',
    'outcome',
    read,
  );
}

/** The streams of `GET /changes` in a gateway. */
export function watchStreams(read: () => { open: number; ended: Readonly<Record<string, number>> }): void {
  gauge('podcast_sync_streams', 'Streams of changes that are open (`MAX_STREAMS`).', () => read().open);
  countBy(
    'podcast_sync_streams_ended_total',
    'Streams of changes that ended, by reason: `client`, `expired`, `revoked`, `replaced`, `age`, `drain`, `slow`, `lost`, `failed`.',
    'reason',
    () => read().ended,
  );
}

/** The bytes that a gateway holds for requests; beyond a limit it refuses more. */
export function watchHeldBytes(read: () => number): void {
  gauge('podcast_sync_held_bytes', 'Bytes of bodies that wait and of answers that leave (`MAX_HELD_BYTES`).', read);
}

/** What a gateway's client of the services counts. */
export function watchClient(read: () => ClientCounters): void {
  gauge('podcast_sync_transport_calls_in_flight', 'Calls that wait for an answer.', () => read().inFlight);
  counter('podcast_sync_transport_calls_total', 'Calls that were sent.', () => read().sent);
  counter('podcast_sync_transport_refused_total', 'Calls refused at once, as unavailable.', () => read().refused);
  counter('podcast_sync_transport_timeouts_total', 'Calls that ended by their deadline.', () => read().timedOut);
  counter('podcast_sync_transport_late_replies_total', 'Replies that nobody waited for.', () => read().late);
  counter('podcast_sync_transport_reconnects_total', 'Connections to Redis that were lost.', () => read().reconnects);
  register.registerMetric(
    new Gauge({
      registers: [],
      name: 'podcast_sync_transport_backlog_age_seconds',
      help: 'How long the oldest unread request of a service waits.',
      labelNames: ['service'],
      collect() {
        for (const [service, ms] of Object.entries(read().backlogMs)) this.set({ service }, ms / 1_000);
      },
    }),
  );
}

/** The connections to Postgres of this process. */
export function watchPool(read: () => { total: number; idle: number; waiting: number }): void {
  register.registerMetric(
    new Gauge({
      registers: [],
      name: 'podcast_sync_postgres_connections',
      help: 'Connections to Postgres by state; `waiting` are statements that wait for one.',
      labelNames: ['state'],
      collect() {
        for (const [state, count] of Object.entries(read())) this.set({ state }, count);
      },
    }),
  );
}

/** People who sign in, and passwords that wait for a processor. */
export function watchSignIns(read: () => { outcomes: Readonly<Record<string, number>>; waiting: number }): void {
  countBy(
    'podcast_sync_sign_ins_total',
    'Sign-ins of people by outcome: `signed_in`, `needs_code`, `refused`, `limited`, `busy`.',
    'outcome',
    () => read().outcomes,
  );
  gauge('podcast_sync_password_hashes_waiting', 'Passwords that wait to be hashed.', () => read().waiting);
}

/** Requests for tokens, by the kind of grant (RFC 6749) and what came of it: `issued`, or the standard's error. */
export function tokenMetrics(): (grantType: string, outcome: string) => void {
  const requests = oneCounter(
    'podcast_sync_token_requests_total',
    'Requests of apps for tokens, by kind of grant and outcome: `issued`, or the error of OAuth.',
    ['grant_type', 'outcome'],
  );
  return (grant_type, outcome) => requests.inc({ grant_type, outcome });
}

/** What was revoked, by its kind, and what could not be announced. */
export function watchRevocations(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_revocations_total',
    'Revocations by kind: `user`, `grant`, `session`, `credential`, `gpodder_session`; `unannounced`: Redis was away.',
    'kind',
    read,
  );
}

/** A counter that all parts of a process with the same name share. */
function oneCounter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
  return (register.getSingleMetric(name) as Counter<Label> | undefined) ?? new Counter({ name, help, labelNames });
}

function countBy(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void {
  register.registerMetric(
    new Counter({
      registers: [],
      name,
      help,
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    }),
  );
}

function gauge(name: string, help: string, read: () => number | undefined): void {
  register.registerMetric(
    new Gauge({
      registers: [],
      name,
      help,
      collect() {
        this.set(read() ?? 0);
      },
    }),
  );
}

/** Of what is counted in several places of a process, where it is read. */
const readers = new Map<string, (() => number | undefined)[]>();

/** A counter whose value is kept elsewhere and read when metrics are collected; of several places the sum. */
function counter(name: string, help: string, read: () => number | undefined): void {
  const others = register.getSingleMetric(name) && readers.get(name);
  if (others) return void others.push(read);
  const all = [read];
  readers.set(name, all);
  register.registerMetric(
    new Counter({
      registers: [],
      name,
      help,
      collect() {
        this.reset();
        this.inc(all.reduce((sum, each) => sum + (each() ?? 0), 0));
      },
    }),
  );
}
