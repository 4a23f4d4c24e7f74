import { setTimeout as delay } from 'node:timers/promises';
import { group, type ServiceKeys } from '../wire/keys.js';
import type { RedisClock } from './redis.clock.js';
import type { RedisLink } from '../wire/redis.link.js';

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
