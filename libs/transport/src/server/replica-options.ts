import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Times in ms. With the defaults, replicas take over a dead one's requests in about 2 s. */
export interface ReplicaTimings {
  /**
   * Interval of heartbeats, renewals of running requests, and checks for abandoned requests. It is
   * longer by `abandonedMs` while no replica has a request, because none can be abandoned sooner.
   */
  readonly heartbeatMs: number;
  /**
   * Time until a heartbeat expires. While no replica has a request, it is longer by `abandonedMs`.
   */
  readonly heartbeatTtlMs: number;
  /** Time without a renewal after which a request counts as abandoned by its replica. */
  readonly abandonedMs: number;
  /**
   * Maximum time that a read waits for a request; less than the connection's `socketTimeout`. In a
   * Cluster, `heartbeatMs` applies instead.
   */
  readonly blockMs: number;
  /**
   * Time for which a stopping replica still reads requests, because clients rely on the heartbeat
   * that they last read.
   */
  readonly drainGraceMs: number;
  /**
   * Maximum time that a stopping replica waits for its running requests. Other replicas then take
   * over the unanswered ones.
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

/** Default maximum bytes of a reply. Larger than any valid reply, smaller than Redis' buffers. */
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
