import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { group, type ServiceKeys } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/** How much less certain a sample gets with age: by more than two clocks drift apart, so that it gets replaced. */
const driftPerMs = 0.001;

/** A sample is not held on to for longer than this, however exact it was. */
const longestMs = 10_000;

/**
 * Estimates Redis' own time between two answers of Redis.
 *
 * Invariants:
 * - No wall clock of this machine is read; setting one changes nothing here.
 * - A sample is as uncertain as half its round trip is long: an answer that took 3 s replaces no better one.
 * - A step of Redis' time is detected by the first sample that contradicts the held one, and followed immediately.
 */
export class RedisClock {
  private held?: { offset: number; uncertainty: number; at: number };

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  /** Redis' time in milliseconds; NaN before the first answer. */
  now(): number {
    return this.monotonic() + (this.held?.offset ?? Number.NaN);
  }

  /** Asks Redis by `ask`, which resolves to its time in milliseconds, and learns from the answer. */
  async learn<Answer>(ask: () => Promise<Answer>, timeIn: (answer: Answer) => number): Promise<Answer> {
    const asked = this.monotonic();
    const answer = await ask();
    this.sample(timeIn(answer), asked, this.monotonic());
    return answer;
  }

  /** Redis said `redisMs` at some time between `asked` and `answered`. */
  sample(redisMs: number, asked: number, answered: number): void {
    const offset = redisMs - (asked + answered) / 2;
    // And 1, as Redis' time is cut to whole milliseconds.
    const uncertainty = (answered - asked) / 2 + 1;
    const held = this.held;
    if (held) {
      const age = answered - held.at;
      const heldUncertainty = held.uncertainty + age * driftPerMs;
      const contradicts = Math.abs(offset - held.offset) > uncertainty + heldUncertainty;
      if (!contradicts && uncertainty > heldUncertainty && age < longestMs) return;
    }
    this.held = { offset, uncertainty, at: answered };
  }
}

/** A consumer that has been silent for this long and owns nothing is deleted. */
const forgottenMs = 60_000;

/** Of a heartbeat that is over as soon as it is written: the replica stays a member, and clients do not count on it. */
const expiredTtlMs = -1;

/** One replica's membership of its service's consumer group, and its heartbeat, by which it also learns Redis' time. */
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

  /** Makes stream and group where they are missing and says for the first time that this replica is alive. */
  async join(): Promise<void> {
    // The heartbeat makes both where the stream is missing. Here the group is also made where only it was destroyed.
    await this.link.redis.xgroup('CREATE', this.keys.requests, group, '0', 'MKSTREAM').catch((error: Error) => {
      if (!error.message.startsWith('BUSYGROUP')) throw error;
    });
    await this.heartbeat();
  }

  /** Whether clients may count on this replica, as the next heartbeat says. */
  get isServing(): boolean {
    return this.serving;
  }

  /** Whether no other replica was alive at the last heartbeat. */
  get isAlone(): boolean {
    return this.alive === 1;
  }

  /** Says that this replica is alive; while it does not serve, by a heartbeat that no client counts on. */
  async heartbeat(): Promise<void> {
    const { requests, alive } = this.keys;
    const ttlMs = this.serving ? this.heartbeatTtlMs : expiredTtlMs;
    const write = () => this.link.redis.rpcHeartbeat(requests, alive, group, this.replica, ttlMs);
    [, this.alive] = await this.clock.learn(write, ([now]) => now);
  }

  /**
   * Has clients count on this replica from now on, or not. Resolves when Redis knows. Where no other replica is alive,
   * nobody would read what clients send until they know, too: then it resolves `drainGraceMs` later.
   */
  async setServing(isServing: boolean, drainGraceMs: number): Promise<void> {
    this.serving = isServing;
    await this.heartbeat();
    if (!this.serving && this.alive === 0) await delay(drainGraceMs, undefined, { ref: false });
  }

  /** Removes the heartbeat, so that clients count on this replica no more. @returns whether Redis carried it out. */
  async withdraw(): Promise<boolean> {
    return this.link.redis.zrem(this.keys.alive, this.replica).then(
      () => true,
      () => false,
    );
  }

  /** Deletes the consumer unless requests are pending with it, which would be lost. @returns how many are pending. */
  async leave(): Promise<number> {
    return this.link.redis.rpcLeave(this.keys.requests, this.keys.alive, group, this.replica);
  }

  /** Deletes the consumers of replicas that are long gone. */
  async removeDeadConsumers(): Promise<void> {
    await this.link.redis.rpcRemoveDeadConsumers(this.keys.requests, this.keys.alive, group, forgottenMs);
  }
}
