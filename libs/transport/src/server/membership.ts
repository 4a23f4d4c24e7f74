import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { group, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';
import type { ReplicaTimings } from './replica.options.js';

/** Growth of a sample's uncertainty per millisecond of age: more than the drift of two clocks. */
const driftPerMs = 0.001;

/** Maximum age of the best sample in milliseconds, regardless of its accuracy. */
const maxSampleAgeMs = 10_000;

/**
 * Estimates the current time of the Redis server, from samples in its answers.
 *
 * Invariants:
 * - It uses only the monotonic clock of this machine, so a change of the system time has no effect.
 * - The uncertainty of a sample is half its round trip, and grows with its age. A new sample that
 *   is less certain than the current one is ignored, for at most 10 s.
 * - A sample that contradicts the current one shows that Redis' time was set, and replaces it.
 */
export class RedisClock {
  private best?: { offset: number; uncertainty: number; at: number };

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  /** Returns Redis' time in milliseconds; NaN before the first answer. */
  now(): number {
    return this.monotonic() + (this.best?.offset ?? Number.NaN);
  }

  /** Calls Redis, takes a sample of its time from the answer, and returns the answer. */
  async sampleFrom<Answer>(
    call: () => Promise<Answer>,
    timeIn: (answer: Answer) => number,
  ): Promise<Answer> {
    const sentAt = this.monotonic();
    const answer = await call();
    this.sample(timeIn(answer), sentAt, this.monotonic());
    return answer;
  }

  /** Adds a sample: Redis reported `redisMs` at some time between `sentAt` and `receivedAt`. */
  sample(redisMs: number, sentAt: number, receivedAt: number): void {
    const offset = redisMs - (sentAt + receivedAt) / 2;
    // 1 is added because Redis' time is cut to whole milliseconds.
    const uncertainty = (receivedAt - sentAt) / 2 + 1;
    const best = this.best;
    if (best) {
      const age = receivedAt - best.at;
      const bestUncertainty = best.uncertainty + age * driftPerMs;
      const contradicts = Math.abs(offset - best.offset) > uncertainty + bestUncertainty;
      if (!contradicts && uncertainty > bestUncertainty && age < maxSampleAgeMs) return;
    }
    this.best = { offset, uncertainty, at: receivedAt };
  }
}

/** Idle time in milliseconds after which a dead consumer without pending requests is deleted. */
const deadConsumerMs = 60_000;

/** Negative lifetime: the heartbeat is expired when written, so clients ignore the replica. */
const expiredTtlMs = -1;

/** A replica's membership of its consumer group, and its heartbeat, which samples Redis' time. */
export class Membership {
  private serving = true;
  private alive = 0;
  private pending = 0;

  constructor(
    private readonly link: RedisLink,
    private readonly keys: ServiceKeys,
    private readonly replica: string,
    private readonly timings: Pick<ReplicaTimings, 'heartbeatTtlMs' | 'abandonedMs'>,
    private readonly clock: RedisClock,
  ) {}

  /** Creates missing stream and group and writes the first heartbeat. */
  async join(): Promise<void> {
    // The heartbeat creates the group only together with the stream.
    await this.link.redis
      .xgroup('CREATE', this.keys.requests, group, '0', 'MKSTREAM')
      .catch((error: Error) => {
        if (!error.message.startsWith('BUSYGROUP')) throw error;
      });
    await this.heartbeat();
  }

  /** True if clients send requests to this replica after its next heartbeat. */
  get isServing(): boolean {
    return this.serving;
  }

  /** True if no other replica was alive at the last heartbeat. */
  get isAlone(): boolean {
    return this.alive === 1;
  }

  /** True if a replica had an unanswered request at the last heartbeat. */
  get hasPending(): boolean {
    return this.pending > 0;
  }

  /**
   * Writes the heartbeat and returns the ids of abandoned requests. While the replica does not
   * serve, it writes an expired heartbeat.
   *
   * @param isIdle true if the next heartbeat can follow later, by the longer interval.
   */
  async heartbeat(isIdle = true): Promise<readonly string[]> {
    const { requests, alive } = this.keys;
    const { heartbeatTtlMs, abandonedMs } = this.timings;
    const validMs = heartbeatTtlMs + (isIdle ? abandonedMs : 0);
    const ttlMs = this.serving ? validMs : expiredTtlMs;
    const { redis } = this.link;
    const write = () =>
      redis.rpcHeartbeat(requests, alive, group, this.replica, ttlMs, abandonedMs);
    const [, count, pending, abandoned] = await this.clock.sampleFrom(write, ([now]) => now);
    this.alive = count;
    this.pending = pending;
    return abandoned;
  }

  /**
   * Starts or stops serving; resolves when Redis has the heartbeat. If no other replica serves, it
   * resolves `drainGraceMs` later: clients that have not read the heartbeat still send requests.
   */
  async setServing(isServing: boolean, drainGraceMs: number): Promise<void> {
    this.serving = isServing;
    await this.heartbeat();
    if (!this.serving && this.alive === 0) await delay(drainGraceMs, undefined, { ref: false });
  }

  /** Removes the heartbeat, so that clients ignore the replica. @returns false if Redis failed. */
  async withdraw(): Promise<boolean> {
    return this.link.redis.zrem(this.keys.alive, this.replica).then(
      () => true,
      () => false,
    );
  }

  /** Deletes the consumer unless it has pending requests. @returns the number of these. */
  async leave(): Promise<number> {
    return this.link.redis.rpcLeave(this.keys.requests, this.keys.alive, group, this.replica);
  }

  async removeDeadConsumers(): Promise<void> {
    await this.link.redis.rpcRemoveDeadConsumers(
      this.keys.requests,
      this.keys.alive,
      group,
      deadConsumerMs,
    );
  }
}
