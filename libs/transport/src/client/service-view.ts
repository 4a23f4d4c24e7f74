import { performance } from 'node:perf_hooks';
import { unavailable } from '#contracts';
import { Batcher } from '../wire/batcher.js';
import {
  requestRetentionMs,
  consumerGroup,
  serviceKeys,
  type ServiceKeys,
} from '../wire/format.js';
import type { RedisLink } from '../wire/redis-link.js';

/**
 * Maximum age of the backlog as a share of a call's time limit. A call fails immediately if the
 * backlog is older, because its reply would probably arrive too late.
 */
const maxBacklogShare = 0.5;

/**
 * Age of the last heartbeat read, in milliseconds, above which a call reads the heartbeat again. It
 * is less than `drainGraceMs`, for which a stopping replica still reads requests.
 */
const maxReadAgeMs = 550;

/** Duration in ms after which a read counts as hanging. Later calls do not wait for it. */
const hangingReadMs = 500;

/** Maximum bytes of requests per script call, because Redis runs no other command meanwhile. */
const maxBatchBytes = 4 * 2 ** 20;

/** A request that waits for the next batch. */
interface QueuedRequest {
  /** Field names and values of the request's stream entry, alternating. */
  readonly fields: readonly string[];
  /** Called without an argument when Redis has the request, else with the error. */
  readonly onSent: (error?: Error) => void;
}

/** A client's view of one service: the heartbeat and backlog last read, and requests to send. */
export class ServiceView {
  /** True if a call used the service since the last regular read. */
  isUsed = false;
  /** Number of calls to the service whose reply this client awaits. */
  inFlight = 0;
  /** Wait of the oldest unread request at the last read, in ms; 0 if there was none. */
  backlogMs = 0;
  private readonly keys: ServiceKeys;
  private readonly batcher = new Batcher<QueuedRequest>(
    (queued) => this.addToStream(queued),
    countBytes,
    maxBatchBytes,
  );
  /** Time at which the latest heartbeat of any replica expires (`performance.now()`). */
  private aliveUntil = 0;
  /** Start of the last read that Redis answered (`performance.now()`). */
  private answeredReadAt = Number.NEGATIVE_INFINITY;
  /** Start of the last read, answered or not (`performance.now()`). */
  private lastReadAt = Number.NEGATIVE_INFINITY;
  private runningRead?: Promise<void>;

  constructor(
    private readonly service: string,
    private readonly maxInFlight: number,
    private readonly link: RedisLink,
  ) {
    this.keys = serviceKeys(service);
  }

  /**
   * True if a call must first read the heartbeat again, because the last read is old or its
   * heartbeat has expired. After a stalled event loop, replicas are alive although the heartbeat
   * has expired. False while a read hangs, because a call would wait for that read.
   */
  get needsRead(): boolean {
    const now = performance.now();
    const isHanging = this.runningRead && now - this.lastReadAt > hangingReadMs;
    return !isHanging && (!this.isAlive || now - this.answeredReadAt > maxReadAgeMs);
  }

  /**
   * True if the regular reads include the service: after a call, while a reply is awaited, or while
   * there is a backlog, which a metric reports.
   */
  get isInUse(): boolean {
    return this.isUsed || this.inFlight > 0 || this.backlogMs > 0;
  }

  /** Reads heartbeat and backlog from Redis. Concurrent calls share one read. */
  readFromRedis(): Promise<void> {
    this.runningRead ??= this.startRead().finally(() => (this.runningRead = undefined));
    return this.runningRead;
  }

  /** Makes {@link isAlive} false until the next read, e.g. after a lost connection to Redis. */
  markDead(): void {
    this.aliveUntil = 0;
  }

  /** True if the client already awaits `maxInFlight` replies of the service. */
  get isFull(): boolean {
    return this.inFlight >= this.maxInFlight;
  }

  /** True until the heartbeat that was last read expires. */
  get isAlive(): boolean {
    return performance.now() < this.aliveUntil;
  }

  /** Returns why a call with this time limit must fail; `undefined` if it can be sent. */
  rejectionReason(timeLimitMs: number): string | undefined {
    const { service } = this;
    if (!this.isAlive) return `no replica of the service ${service} is alive`;
    if (this.backlogMs > timeLimitMs * maxBacklogShare)
      return `the backlog of the service ${service} is too old: ${this.backlogMs} ms`;
    return undefined;
  }

  /**
   * Adds a request to the service's stream.
   *
   * @throws Failure `unavailable` if Redis does not answer or has no such stream.
   */
  send(fields: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.batcher.add({ fields, onSent: (error) => (error ? reject(error) : resolve()) });
    });
  }

  private async addToStream(queued: readonly QueuedRequest[]): Promise<void> {
    const countsAndFields = queued.flatMap(({ fields }) => [fields.length, ...fields]);
    try {
      const ids = await this.link.redis.rpcAdd(
        this.keys.requests,
        requestRetentionMs,
        ...countsAndFields,
      );
      for (const [index, { onSent }] of queued.entries())
        onSent(
          ids[index]
            ? undefined
            : unavailable(`the stream of the service ${this.service} is missing in Redis`),
        );
    } catch (error) {
      for (const { onSent } of queued)
        onSent(unavailable('Redis rejected the request or is unavailable', error));
    }
  }

  private async startRead(): Promise<void> {
    const { requests, heartbeats } = this.keys;
    const startedAt = performance.now();
    this.lastReadAt = startedAt;
    const [aliveMs, waitedMs] = await this.link.redis.rpcReadState(
      requests,
      heartbeats,
      consumerGroup,
    );
    // Counts from the start of the read, because a slow answer must not extend the validity.
    this.aliveUntil = startedAt + aliveMs;
    this.answeredReadAt = startedAt;
    this.backlogMs = waitedMs;
  }
}

function countBytes({ fields }: QueuedRequest): number {
  return fields.reduce((bytes, field) => bytes + Buffer.byteLength(field), 0);
}
