import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { group, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/** Growth of a sample's uncertainty with its age; more than two clocks drift apart. */
const driftPerMs = 0.001;

/** Maximum age of the held sample in milliseconds, regardless of its accuracy. */
const maxSampleAgeMs = 10_000;

/**
 * Estimates Redis' own time between two answers of Redis.
 *
 * Invariants:
 * - It reads no wall clock of this machine, so setting one changes nothing here.
 * - The uncertainty of a sample is half its round trip: a slow answer replaces no better one.
 * - The first sample that contradicts the held one reveals a step of Redis' time and replaces it.
 */
export class RedisClock {
  private held?: { offset: number; uncertainty: number; at: number };

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  /** Returns Redis' time in milliseconds; NaN before the first answer. */
  now(): number {
    return this.monotonic() + (this.held?.offset ?? Number.NaN);
  }

  /** Calls `ask`, samples Redis' time in milliseconds from its answer and returns the answer. */
  async learn<Answer>(
    ask: () => Promise<Answer>,
    timeIn: (answer: Answer) => number,
  ): Promise<Answer> {
    const asked = this.monotonic();
    const answer = await ask();
    this.sample(timeIn(answer), asked, this.monotonic());
    return answer;
  }

  /** Adds a sample: Redis reported `redisMs` at some time between `asked` and `answered`. */
  sample(redisMs: number, asked: number, answered: number): void {
    const offset = redisMs - (asked + answered) / 2;
    // 1 is added because Redis' time is cut to whole milliseconds.
    const uncertainty = (answered - asked) / 2 + 1;
    const held = this.held;
    if (held) {
      const age = answered - held.at;
      const heldUncertainty = held.uncertainty + age * driftPerMs;
      const contradicts = Math.abs(offset - held.offset) > uncertainty + heldUncertainty;
      if (!contradicts && uncertainty > heldUncertainty && age < maxSampleAgeMs) return;
    }
    this.held = { offset, uncertainty, at: answered };
  }
}

/** Idle time in milliseconds after which a consumer that owns nothing is deleted. */
const forgottenMs = 60_000;

/** Lifetime of a heartbeat that expires on write: clients ignore it, the replica stays a member. */
const expiredTtlMs = -1;

/** A replica's membership of its consumer group, and its heartbeat, which samples Redis' time. */
export class Membership {
  private serving = true;
  private alive = 0;

  constructor(
    private readonly link: RedisLink,
    private readonly keys: ServiceKeys,
    private readonly replica: string,
    private readonly heartbeatTtlMs: number,
    private readonly clock: RedisClock,
  ) {}

  /** Creates missing stream and group and writes the first heartbeat. */
  async join(): Promise<void> {
    // Also covers a destroyed group; the heartbeat only covers a missing stream.
    await this.link.redis
      .xgroup('CREATE', this.keys.requests, group, '0', 'MKSTREAM')
      .catch((error: Error) => {
        if (!error.message.startsWith('BUSYGROUP')) throw error;
      });
    await this.heartbeat();
  }

  /** True if the next heartbeat lets clients count on this replica. */
  get isServing(): boolean {
    return this.serving;
  }

  /** True if no other replica was alive at the last heartbeat. */
  get isAlone(): boolean {
    return this.alive === 1;
  }

  /** Writes the heartbeat; while the replica does not serve, one that clients ignore. */
  async heartbeat(): Promise<void> {
    const { requests, alive } = this.keys;
    const ttlMs = this.serving ? this.heartbeatTtlMs : expiredTtlMs;
    const write = () => this.link.redis.rpcHeartbeat(requests, alive, group, this.replica, ttlMs);
    [, this.alive] = await this.clock.learn(write, ([now]) => now);
  }

  /**
   * Starts or stops serving; resolves when Redis has the heartbeat. The last replica to stop
   * resolves `drainGraceMs` later, since it still has to read the requests of clients that have not
   * polled yet.
   */
  async setServing(isServing: boolean, drainGraceMs: number): Promise<void> {
    this.serving = isServing;
    await this.heartbeat();
    if (!this.serving && this.alive === 0) await delay(drainGraceMs, undefined, { ref: false });
  }

  /** Removes the heartbeat, so that clients ignore the replica. @returns whether Redis did it. */
  async withdraw(): Promise<boolean> {
    return this.link.redis.zrem(this.keys.alive, this.replica).then(
      () => true,
      () => false,
    );
  }

  /** Deletes the consumer unless it has pending requests. @returns their number. */
  async leave(): Promise<number> {
    return this.link.redis.rpcLeave(this.keys.requests, this.keys.alive, group, this.replica);
  }

  async removeDeadConsumers(): Promise<void> {
    await this.link.redis.rpcRemoveDeadConsumers(
      this.keys.requests,
      this.keys.alive,
      group,
      forgottenMs,
    );
  }
}
