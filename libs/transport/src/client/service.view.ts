import { performance } from 'node:perf_hooks';
import { unavailable } from '#contracts';
import { Batcher } from '../wire/batcher.js';
import { requestRetentionMs, group, serviceKeys, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/**
 * Maximum share of a call's budget that the backlog can take. With a larger share, replicas would
 * answer most requests after their deadline.
 */
const waitingShare = 0.5;

/**
 * Maximum age in milliseconds of a read that a call relies on. A stopping replica still reads
 * requests for a little longer (`drainGraceMs`).
 */
const maxAgeMs = 550;

/** Time in milliseconds after which a running read counts as hanging, e.g. during a failover. */
const hangingMs = 500;

/** Maximum bytes of requests per script call, during which Redis runs no other command. */
const maxBytes = 4 * 2 ** 20;

interface Addition {
  readonly fields: readonly string[];
  readonly done: (error?: Error) => void;
}

/** A client's state of one service: heartbeat and backlog as last read, and requests to send. */
export class ServiceView {
  /** True if there was a call since the last regular read. */
  isUsed = false;
  /** Number of calls that this client waits for. */
  inFlight = 0;
  /** Time that the oldest unread request had waited at the last read, in milliseconds. */
  backlogMs = 0;
  private readonly keys: ServiceKeys;
  private readonly batcher = new Batcher<Addition>(
    (additions) => this.add(additions),
    bytesOf,
    maxBytes,
  );
  private aliveUntil = 0;
  /** Start of the last read that ended, and of the last read. */
  private readAt = Number.NEGATIVE_INFINITY;
  private startedAt = Number.NEGATIVE_INFINITY;
  private polling?: Promise<void>;

  constructor(
    private readonly service: string,
    private readonly maxInFlight: number,
    private readonly link: RedisLink,
  ) {
    this.keys = serviceKeys(service);
  }

  /**
   * True if a call must wait for a read first. An expired heartbeat is read again: after a stalled
   * event loop it can be expired although replicas are alive. A hanging read is not awaited.
   */
  get needsRead(): boolean {
    const now = performance.now();
    const isHanging = this.polling && now - this.startedAt > hangingMs;
    return !isHanging && (!this.isAlive || now - this.readAt > maxAgeMs);
  }

  /** True while regular reads are needed: for calls, waiting replies, the metric of a backlog. */
  get isInUse(): boolean {
    return this.isUsed || this.inFlight > 0 || this.backlogMs > 0;
  }

  /** Reads heartbeat and backlog from Redis. Concurrent calls share one read. */
  poll(): Promise<void> {
    this.polling ??= this.read().finally(() => (this.polling = undefined));
    return this.polling;
  }

  /** Makes {@link isAlive} false until the next read, e.g. after a lost connection to Redis. */
  markDead(): void {
    this.aliveUntil = 0;
  }

  get isFull(): boolean {
    return this.inFlight >= this.maxInFlight;
  }

  /** True until the heartbeat of the last read expires. */
  get isAlive(): boolean {
    return performance.now() < this.aliveUntil;
  }

  /** Returns why a call with this budget would fail; `undefined` if it can be sent. */
  rejectionReason(budgetMs: number): string | undefined {
    const { service } = this;
    if (!this.isAlive) return `no replica of the service ${service} is alive`;
    if (this.backlogMs > budgetMs * waitingShare)
      return `the backlog of the service ${service} is too old: ${this.backlogMs} ms`;
    return undefined;
  }

  /** Resolves when Redis has the request. @throws Failure `unavailable` otherwise. */
  send(fields: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.batcher.add({ fields, done: (error) => (error ? reject(error) : resolve()) });
    });
  }

  private async add(additions: readonly Addition[]): Promise<void> {
    const counted = additions.flatMap(({ fields }) => [fields.length, ...fields]);
    try {
      const ids = await this.link.redis.rpcAdd(this.keys.requests, requestRetentionMs, ...counted);
      for (const [index, { done }] of additions.entries())
        done(
          ids[index]
            ? undefined
            : unavailable(`the stream of the service ${this.service} is missing in Redis`),
        );
    } catch (error) {
      for (const { done } of additions)
        done(unavailable('Redis rejected the request or is unavailable', error));
    }
  }

  private async read(): Promise<void> {
    const { requests, alive } = this.keys;
    const startedAt = performance.now();
    this.startedAt = startedAt;
    const [aliveMs, waitedMs] = await this.link.redis.rpcPoll(requests, alive, group);
    // Counted from the start of the read: a slow answer must not extend the heartbeat's validity.
    this.aliveUntil = startedAt + aliveMs;
    this.readAt = startedAt;
    this.backlogMs = waitedMs;
  }
}

function bytesOf({ fields }: Addition): number {
  return fields.reduce((bytes, field) => bytes + Buffer.byteLength(field), 0);
}
