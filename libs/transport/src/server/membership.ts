import { setTimeout as delay } from 'node:timers/promises';
import { group, type ServiceKeys } from '../wire/keys.js';
import type { RedisClock } from '../wire/redis.clock.js';
import type { RedisLink } from '../wire/redis.link.js';

/** A consumer that has been silent for this long and owns nothing is deleted. */
const forgottenMs = 60_000;

/** How long a heartbeat counts that says that nobody is to count on this replica: it is over before it is read. */
const overMs = -1;

/** One replica's place in its service: the consumer group, the heartbeat and, learnt from it, Redis' time. */
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
    // A stream that stands without its group (someone destroyed it) is the case that the heartbeat does not see.
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

  /** Says that this replica is alive; or, while it does not serve, that it is there and not to be counted on. */
  async heartbeat(): Promise<void> {
    const { requests, alive } = this.keys;
    const ttlMs = this.serving ? this.heartbeatTtlMs : overMs;
    const write = () => this.link.redis.rpcHeartbeat(requests, alive, group, this.replica, ttlMs);
    [, this.alive] = await this.clock.learn(write, ([now]) => now);
  }

  /**
   * Has clients count on this replica from now on, or not. Resolves when that is told; where nobody else is there to read what
   * they had sent before, only after they have heard of it, `drainGraceMs` later.
   */
  async setServing(isServing: boolean, drainGraceMs: number): Promise<void> {
    this.serving = isServing;
    await this.heartbeat();
    if (!this.serving && this.alive === 0) await delay(drainGraceMs, undefined, { ref: false });
  }

  /** Says that this replica is not to be counted on any more. Answers whether Redis heard it. */
  async withdraw(): Promise<boolean> {
    return this.link.redis.zrem(this.keys.alive, this.replica).then(
      () => true,
      () => false,
    );
  }

  /** Takes the consumer away unless requests are pending with it: those would be lost. Answers how many are. */
  async leave(): Promise<number> {
    return this.link.redis.rpcLeave(this.keys.requests, this.keys.alive, group, this.replica);
  }

  /** Deletes the consumers of replicas that are gone. */
  async removeDeadConsumers(): Promise<void> {
    await this.link.redis.rpcRemoveDeadConsumers(this.keys.requests, this.keys.alive, group, forgottenMs);
  }
}
