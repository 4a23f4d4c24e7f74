import { performance } from 'node:perf_hooks';
import { unavailable } from '#contracts';
import { Batch } from '../wire/batch.js';
import { retentionMs, group, serviceKeys, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/**
 * The share of its budget that a request may spend waiting in the stream; the rest is for its run. If it could wait
 * until its deadline, replicas with a backlog would only give answers that come too late.
 */
const waitingShare = 0.5;

/** Most bytes of requests that are added in one step: Redis serves no other command during that step. */
const maxBytes = 4 * 2 ** 20;

interface Addition {
  readonly fields: readonly string[];
  readonly done: (error?: Error) => void;
}

/**
 * One service as a client sees it: whether a replica is alive, how long its backlog is, and its stream, which requests
 * are added to in batches.
 */
export class ServiceView {
  /** Calls of this client that the service has not answered. */
  inFlight = 0;
  /** How long the oldest request that no replica has read yet had been waiting at the last poll. */
  backlogMs = 0;
  private readonly keys: ServiceKeys;
  private readonly batch = new Batch<Addition>((additions) => this.add(additions), bytesOf, maxBytes);
  private aliveUntil?: number;
  private polling?: Promise<void>;

  constructor(
    service: string,
    private readonly maxInFlight: number,
    private readonly link: RedisLink,
  ) {
    this.keys = serviceKeys(service);
  }

  /** Whether it was polled at all. */
  get isKnown(): boolean {
    return this.aliveUntil !== undefined;
  }

  /** Whether a poll is under way. */
  get isPolling(): boolean {
    return this.polling !== undefined;
  }

  /** Reads the heartbeat and the backlog; a poll that is under way already is shared. */
  poll(): Promise<void> {
    this.polling ??= this.read().finally(() => (this.polling = undefined));
    return this.polling;
  }

  /** Counts no replica as alive until the next poll, e.g. after a connection to Redis was lost. */
  forget(): void {
    this.aliveUntil = 0;
  }

  /** Whether this client has as many calls waiting as it may have. */
  get isFull(): boolean {
    return this.inFlight >= this.maxInFlight;
  }

  /** Whether a replica was alive at the last poll and its heartbeat is still valid. */
  get isAlive(): boolean {
    return performance.now() < (this.aliveUntil ?? 0);
  }

  /** Why a call that waits for `budgetMs` can't be answered in time; `undefined` when it can. */
  refusal(budgetMs: number): string | undefined {
    if (!this.isAlive) return 'no replica is alive';
    if (this.backlogMs > budgetMs * waitingShare) return 'the backlog is too long for the deadline';
    return undefined;
  }

  /** Resolves when Redis has the request, and rejects with the `unavailable` to throw otherwise. */
  send(fields: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.batch.add({ fields, done: (error) => (error ? reject(error) : resolve()) });
    });
  }

  private async add(additions: readonly Addition[]): Promise<void> {
    const counted = additions.flatMap(({ fields }) => [fields.length, ...fields]);
    try {
      const ids = await this.link.redis.rpcAdd(this.keys.requests, retentionMs, ...counted);
      for (const [index, { done }] of additions.entries())
        done(ids[index] ? undefined : unavailable('the service has no stream'));
    } catch (error) {
      for (const { done } of additions) done(unavailable('Redis did not take the request', error));
    }
  }

  private async read(): Promise<void> {
    const { requests, alive } = this.keys;
    const asked = performance.now();
    const [aliveMs, waitedMs] = await this.link.redis.rpcPoll(requests, alive, group);
    // Counted from before the question: a slow answer must not make the heartbeat look valid for longer than it is.
    this.aliveUntil = asked + aliveMs;
    this.backlogMs = waitedMs;
  }
}

function bytesOf({ fields }: Addition): number {
  return fields.reduce((bytes, field) => bytes + Buffer.byteLength(field), 0);
}
