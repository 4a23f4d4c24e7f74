import { performance } from 'node:perf_hooks';
import { unavailable } from '#contracts';
import { Batcher } from '../wire/batcher.js';
import { retentionMs, group, serviceKeys, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/**
 * The share of its budget that a request can wait in the stream. With a larger share, replicas with
 * a backlog would only send answers after the deadline.
 */
const waitingShare = 0.5;

/** Maximum bytes of requests in one step: Redis serves no other command during that step. */
const maxBytes = 4 * 2 ** 20;

interface Addition {
  readonly fields: readonly string[];
  readonly done: (error?: Error) => void;
}

/** A client's view of one service: liveness, backlog, and the stream, filled in batches. */
export class ServiceView {
  /** Calls of this client that the service has not answered. */
  inFlight = 0;
  /** Wait of the oldest unread request at the last poll, in milliseconds. */
  backlogMs = 0;
  private readonly keys: ServiceKeys;
  private readonly batcher = new Batcher<Addition>(
    (additions) => this.add(additions),
    bytesOf,
    maxBytes,
  );
  private aliveUntil?: number;
  private polling?: Promise<void>;

  constructor(
    service: string,
    private readonly maxInFlight: number,
    private readonly link: RedisLink,
  ) {
    this.keys = serviceKeys(service);
  }

  /** True once the service was polled. */
  get isKnown(): boolean {
    return this.aliveUntil !== undefined;
  }

  get isPolling(): boolean {
    return this.polling !== undefined;
  }

  /** Reads the heartbeat and the backlog. Concurrent callers share one poll. */
  poll(): Promise<void> {
    this.polling ??= this.read().finally(() => (this.polling = undefined));
    return this.polling;
  }

  /** Counts no replica as alive until the next poll, e.g. after a connection to Redis was lost. */
  forget(): void {
    this.aliveUntil = 0;
  }

  get isFull(): boolean {
    return this.inFlight >= this.maxInFlight;
  }

  /** True while the heartbeat that the last poll found is valid. */
  get isAlive(): boolean {
    return performance.now() < (this.aliveUntil ?? 0);
  }

  /** Returns the reason why no answer is possible within `budgetMs`; `undefined` if one is. */
  refusal(budgetMs: number): string | undefined {
    if (!this.isAlive) return 'no replica is alive';
    if (this.backlogMs > budgetMs * waitingShare) return 'the backlog is too long for the deadline';
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
    // Measured from before the poll: a slow answer must not extend the heartbeat's validity.
    this.aliveUntil = asked + aliveMs;
    this.backlogMs = waitedMs;
  }
}

function bytesOf({ fields }: Addition): number {
  return fields.reduce((bytes, field) => bytes + Buffer.byteLength(field), 0);
}
