import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Timing of a replica, in milliseconds. With the defaults a takeover starts within about 2 s. */
export interface ReplicaTimings {
  /**
   * Interval of heartbeats, renewals of running requests, and checks for abandoned requests. While
   * no replica has a request, it is longer by `abandonedMs`: a later request of a replica that dies
   * is abandoned at the earliest then.
   */
  readonly heartbeatMs: number;
  /** Validity of a heartbeat; longer by `abandonedMs` if the next one follows so much later. */
  readonly heartbeatTtlMs: number;
  /** Age of the last renewal after which a request counts as abandoned. */
  readonly abandonedMs: number;
  /**
   * Maximum time that a read blocks until a request arrives; in a Cluster `heartbeatMs`. Less than
   * the `socketTimeout` of the connection.
   */
  readonly blockMs: number;
  /** Time that a stopping replica still reads, until clients have read that it no longer serves. */
  readonly drainGraceMs: number;
  /** Time that a stopping replica waits for running handlers. */
  readonly drainMs: number;
}

export const defaultTimings: ReplicaTimings = {
  heartbeatMs: 500,
  heartbeatTtlMs: 2_000,
  abandonedMs: 1_250,
  blockMs: 3_000,
  drainGraceMs: 600,
  drainMs: 20_000,
};

/** Default maximum bytes of a reply: no answer is larger, and Redis can buffer several replies. */
export const defaultMaxReplyBytes = 8 * 2 ** 20;

export interface ReplicaOptions {
  readonly service: string;
  readonly connect: () => Redis | Cluster;
  readonly maxInFlight: number;
  /** Maximum bytes of one reply, and of replies that are sent together. */
  readonly maxReplyBytes: number;
  readonly timings: ReplicaTimings;
  readonly log: Logger;
}

/** Counts of a replica since its start. */
export interface ReplicaCounters {
  readonly inFlight: number;
  readonly handled: number;
  /** Requests that were not run, because their deadline had passed. */
  readonly expired: number;
  readonly takeovers: number;
  readonly deadLetters: number;
  readonly reconnects: number;
}
