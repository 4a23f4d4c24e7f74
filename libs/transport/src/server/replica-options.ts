import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Times of a replica, in ms. With the defaults, others take its requests over in about 2 s. */
export interface ReplicaTimings {
  /**
   * Interval of heartbeats, renewals of running requests, and checks for abandoned requests. It is
   * longer by `abandonedMs` while no replica has a request: none can become abandoned sooner.
   */
  readonly heartbeatMs: number;
  /**
   * Time until a heartbeat expires. While no replica has a request, it is longer by `abandonedMs`.
   */
  readonly heartbeatTtlMs: number;
  /** Time without a renewal after which a request counts as abandoned by its replica. */
  readonly abandonedMs: number;
  /**
   * Maximum time that a read blocks until a request arrives; in a Cluster `heartbeatMs`. Less than
   * the `socketTimeout` of the connection.
   */
  readonly blockMs: number;
  /**
   * Time for which a stopping replica still reads requests, because clients cache the list of
   * replicas.
   */
  readonly drainGraceMs: number;
  /**
   * Maximum time that a stopping replica waits for its running requests. Others then take over the
   * rest.
   */
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

/** Default limit of a reply in bytes: above the largest answer, below what Redis can buffer. */
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

/** Counts of a replica since its start, and its running requests. */
export interface ReplicaCounters {
  readonly inFlight: number;
  readonly handledRequests: number;
  /** Requests that the replica did not run, because their deadline had passed. */
  readonly expiredRequests: number;
  readonly takeovers: number;
  readonly deadLetters: number;
  readonly lostConnections: number;
}
