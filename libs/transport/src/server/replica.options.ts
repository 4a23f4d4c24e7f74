import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/** The timing of a replica. The defaults belong together: takeover is within about 2 s. */
export interface ReplicaTimings {
  /** How often the heartbeat is written, running requests are renewed and abandoned ones polled for. */
  readonly heartbeatMs: number;
  /** For how long a heartbeat counts. */
  readonly heartbeatTtlMs: number;
  /** A request not renewed for this long is abandoned by its replica. */
  readonly abandonedMs: number;
  /** How long one read waits for requests. */
  readonly blockMs: number;
  /** For how long a stopping replica still reads: until every client knows that it is not to be counted on. */
  readonly drainGraceMs: number;
  /** How long a stopping replica waits for handlers that run. */
  readonly drainMs: number;
}

export const defaultTimings: ReplicaTimings = {
  heartbeatMs: 500,
  heartbeatTtlMs: 2_000,
  abandonedMs: 1_250,
  blockMs: 500,
  drainGraceMs: 600,
  drainMs: 20_000,
};

/** More than the largest answer of a service, and so little that Redis can hold several for a gateway. */
export const defaultMaxReplyBytes = 8 * 2 ** 20;

export interface ReplicaOptions {
  readonly service: string;
  readonly connect: () => Redis | Cluster;
  readonly maxInFlight: number;
  /** Most bytes of one reply, and of replies that are sent together. */
  readonly maxReplyBytes: number;
  readonly timings: ReplicaTimings;
  readonly log: Logger;
}

/** Counts what a replica did since it started. */
export interface ReplicaCounters {
  readonly inFlight: number;
  readonly handled: number;
  /** Dropped unrun, because nobody waited for the answer any more. */
  readonly expired: number;
  readonly takeovers: number;
  readonly deadLetters: number;
  readonly reconnects: number;
}
