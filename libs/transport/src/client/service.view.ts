import { performance } from 'node:perf_hooks';
import { group, serviceKeys, type ServiceKeys } from '../wire/keys.js';
import { RedisClock } from '../wire/redis.clock.js';
import type { RedisLink } from '../wire/redis.link.js';
import { RequestSender } from './request.sender.js';

/**
 * The share of its budget that a request may spend waiting in the stream; the rest is for its run. If it could wait
 * until its deadline, replicas with a backlog would only give answers that come too late.
 */
const waitingShare = 0.5;

/** What a client knows of a service: whether a replica is alive, how long its backlog is, and its Redis' time. */
export class ServiceView {
  readonly clock = new RedisClock();
  /** Calls of this client that the service has not answered. */
  inFlight = 0;
  /** How long the oldest request that no replica has read yet had been waiting at the last poll. */
  backlogMs = 0;
  private readonly keys: ServiceKeys;
  private readonly requestSender: RequestSender;
  private aliveUntil = 0;
  private polling?: Promise<void>;

  constructor(
    service: string,
    private readonly maxInFlight: number,
    private readonly link: RedisLink,
  ) {
    this.keys = serviceKeys(service);
    this.requestSender = new RequestSender(link, this.keys.requests, () => this.clock.now());
  }

  /** Whether a poll is under way. */
  get isPolling(): boolean {
    return this.polling !== undefined;
  }

  /** Reads all of it anew; a poll that is under way already is shared. */
  poll(): Promise<void> {
    this.polling ??= this.read().finally(() => (this.polling = undefined));
    return this.polling;
  }

  /** Believes no replica to be alive until the next poll, e.g. after Redis was away. */
  forget(): void {
    this.aliveUntil = 0;
  }

  /** Whether this client has as many calls waiting as it may have. */
  get isFull(): boolean {
    return this.inFlight >= this.maxInFlight;
  }

  /** Whether a replica was alive at the last poll and its heartbeat is still valid. */
  get isAlive(): boolean {
    return performance.now() < this.aliveUntil;
  }

  /** Why a call that waits for `budgetMs` can't be answered in time; `undefined` when it can. */
  refusal(budgetMs: number): string | undefined {
    if (!this.isAlive) return 'no replica is alive';
    if (this.backlogMs > budgetMs * waitingShare) return 'the backlog is too long for the deadline';
    return undefined;
  }

  /** Adds a request; rejects with the `unavailable` to throw when Redis did not take it. */
  send(fields: readonly string[]): Promise<void> {
    return this.requestSender.send(fields);
  }

  private async read(): Promise<void> {
    const { requests, alive } = this.keys;
    const asked = performance.now();
    const answer = await this.clock.learn(
      () => this.link.redis.rpcPoll(requests, alive, group),
      ([now]) => now,
    );
    // Counted from before the question: a slow answer must not make the heartbeat look valid for longer than it is.
    this.aliveUntil = asked + answer[1];
    this.backlogMs = answer[2];
  }
}
