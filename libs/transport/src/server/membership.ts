import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { consumerGroup, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis-link.js';
import type { ReplicaTimings } from './replica-options.js';

/** Growth of a time sample's uncertainty, in ms per ms of age; exceeds the drift of two clocks. */
const driftPerMs = 0.001;

/** Age in ms from which the best time sample is replaced by the next, even a less certain one. */
const maxSampleAgeMs = 10_000;

/**
 * Estimates the current time of the Redis server, from samples in its answers.
 *
 * Invariants:
 * - It uses only the monotonic clock of this machine, so a change of the system time has no effect.
 * - The uncertainty of a sample is half its round trip, and grows with its age. A new sample that
 *   is less certain than the current one is ignored, for at most 10 s.
 * - A sample that contradicts the current one replaces it, because Redis' time was then changed.
 */
export class RedisClock {
  private bestSample?: { offsetMs: number; uncertaintyMs: number; takenAt: number };

  constructor(private readonly monotonicMs: () => number = () => performance.now()) {}

  /** Returns Redis' time in milliseconds; NaN before the first answer. */
  now(): number {
    return this.monotonicMs() + (this.bestSample?.offsetMs ?? Number.NaN);
  }

  /** Calls Redis, takes a sample of its time from the answer, and returns the answer. */
  async sampleFrom<Answer>(
    call: () => Promise<Answer>,
    readTimeMs: (answer: Answer) => number,
  ): Promise<Answer> {
    const sentAt = this.monotonicMs();
    const answer = await call();
    this.addSample(readTimeMs(answer), sentAt, this.monotonicMs());
    return answer;
  }

  /** Adds a sample: Redis reported `redisMs` at some time between `sentAt` and `receivedAt`. */
  addSample(redisMs: number, sentAt: number, receivedAt: number): void {
    const offsetMs = redisMs - (sentAt + receivedAt) / 2;
    // Adds 1 ms, because Redis reports whole milliseconds.
    const uncertaintyMs = (receivedAt - sentAt) / 2 + 1;
    const current = this.bestSample;
    if (current) {
      const ageMs = receivedAt - current.takenAt;
      const currentUncertaintyMs = current.uncertaintyMs + ageMs * driftPerMs;
      const contradicts =
        Math.abs(offsetMs - current.offsetMs) > uncertaintyMs + currentUncertaintyMs;
      if (!contradicts && uncertaintyMs > currentUncertaintyMs && ageMs < maxSampleAgeMs) return;
    }
    this.bestSample = { offsetMs, uncertaintyMs, takenAt: receivedAt };
  }
}

/** Idle time in ms after which a dead replica's consumer is deleted if it has no requests. */
const deadConsumerMs = 60_000;

/**
 * Validity in ms of the heartbeat of a replica that does not serve: it is expired when it is
 * written. It is not a TTL of Redis.
 */
const notServingValidityMs = -1;

/** A replica's membership of its consumer group, and its heartbeats. These sample Redis' time. */
export class Membership {
  private shouldServe = true;
  private aliveReplicas = 0;
  private pendingRequests = 0;

  constructor(
    private readonly link: RedisLink,
    private readonly keys: ServiceKeys,
    private readonly replica: string,
    private readonly timings: Pick<ReplicaTimings, 'heartbeatTtlMs' | 'abandonedMs'>,
    private readonly clock: RedisClock,
  ) {}

  /** Creates stream and consumer group if they are missing, and writes the first heartbeat. */
  async join(): Promise<void> {
    // The heartbeat's script creates the group only if the stream is missing too.
    await this.link.redis
      .xgroup('CREATE', this.keys.requests, consumerGroup, '0', 'MKSTREAM')
      .catch((error: Error) => {
        if (!error.message.startsWith('BUSYGROUP')) throw error;
      });
    await this.sendHeartbeat();
  }

  /** True if the next heartbeat tells clients to send requests. */
  get isServing(): boolean {
    return this.shouldServe;
  }

  /** True if no other replica was alive at the last heartbeat. */
  get isAlone(): boolean {
    return this.aliveReplicas === 1;
  }

  /** True if any replica had an unanswered request at the last heartbeat. */
  get hasPending(): boolean {
    return this.pendingRequests > 0;
  }

  /**
   * Writes the heartbeat and returns the ids of abandoned requests. While the replica does not
   * serve, it writes an expired heartbeat.
   *
   * @param isIdle true to keep the heartbeat valid for `abandonedMs` longer, because the next one
   *   follows later.
   */
  async sendHeartbeat(isIdle = true): Promise<readonly string[]> {
    const { requests, heartbeats } = this.keys;
    const { heartbeatTtlMs, abandonedMs } = this.timings;
    const validMs = heartbeatTtlMs + (isIdle ? abandonedMs : 0);
    const ttlMs = this.shouldServe ? validMs : notServingValidityMs;
    const { redis } = this.link;
    const write = () =>
      redis.rpcHeartbeat(requests, heartbeats, consumerGroup, this.replica, ttlMs, abandonedMs);
    const [, aliveCount, pendingCount, abandonedIds] = await this.clock.sampleFrom(
      write,
      ([now]) => now,
    );
    this.aliveReplicas = aliveCount;
    this.pendingRequests = pendingCount;
    return abandonedIds;
  }

  /**
   * Starts or stops serving; resolves when Redis has the heartbeat. If no other replica is alive, a
   * stop resolves `drainGraceMs` later, because clients that have not read it still send requests.
   */
  async setServing(isServing: boolean, drainGraceMs: number): Promise<void> {
    this.shouldServe = isServing;
    await this.sendHeartbeat();
    if (!this.shouldServe && this.aliveReplicas === 0)
      await delay(drainGraceMs, undefined, { ref: false });
  }

  /** Deletes the heartbeat, so that clients ignore the replica. @returns false if Redis failed. */
  async withdraw(): Promise<boolean> {
    return this.link.redis.zrem(this.keys.heartbeats, this.replica).then(
      () => true,
      () => false,
    );
  }

  /**
   * Deletes the heartbeat. Leaves the consumer group if this replica has no unanswered request.
   *
   * @returns the number of unanswered requests, at most 100.
   */
  async leave(): Promise<number> {
    return this.link.redis.rpcLeave(
      this.keys.requests,
      this.keys.heartbeats,
      consumerGroup,
      this.replica,
    );
  }

  /** Deletes the heartbeats and consumers of replicas that died without leaving the group. */
  async removeDeadConsumers(): Promise<void> {
    await this.link.redis.rpcRemoveDeadConsumers(
      this.keys.requests,
      this.keys.heartbeats,
      consumerGroup,
      deadConsumerMs,
    );
  }
}
