import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { REDIS } from '../account.config.js';
import { networkOf } from '#identity';
import { Refusal } from './refusal.js';

const hour = 3_600;
const day = 24 * hour;

/** Rate limits: `points` attempts in `duration` seconds. */
const policies = {
  /** Passwords for one name, per network or known browser. */
  pair: { points: 10, duration: hour },
  /** Passwords for any name, per network without a known browser. */
  address: { points: 100, duration: day },
  /** Recovery codes, counted apart: they help a person whose passwords were all wrong. */
  recovery: { points: 10, duration: hour },
  recovery_address: { points: 100, duration: day },
  /** Codes of the second factor, per account or known browser of it. */
  code: { points: 10, duration: hour },
  password: { points: 10, duration: hour },
  /** Passwords set by links, per network. */
  link: { points: 10, duration: hour },
  /** Open registrations, per network. */
  registration: { points: 10, duration: day },
  /** Mails per account and per requesting network. */
  mail: { points: 5, duration: hour },
  mail_address: { points: 20, duration: day },
  /** Mails about changes, per account. */
  notice: { points: 20, duration: hour },
} as const;
export type Policy = keyof typeof policies;

/**
 * Rate limits shared by all replicas in Redis, and per process while Redis is unavailable.
 * Invariants:
 * - An attempt is counted before its work starts and given back on success. Concurrent attempts do
 *   not exceed the limit.
 * - Keys are hashes, because people enter passwords as names by mistake.
 */
@Injectable()
export class Limits {
  private readonly limiters: Record<Policy, RateLimiterRedis>;

  constructor(@Inject(REDIS) redis: Redis | Cluster) {
    const limiters = Object.entries(policies).map(([policy, limit]) => {
      const options = { keyPrefix: `podcast-sync:limit:${policy}`, ...limit };
      const insuranceLimiter = new RateLimiterMemory(options);
      const inMemoryBlockOnConsumed = limit.points + 1;
      return [
        policy,
        new RateLimiterRedis({
          storeClient: redis,
          insuranceLimiter,
          inMemoryBlockOnConsumed,
          ...options,
        }),
      ];
    });
    this.limiters = Object.fromEntries(limiters) as Record<Policy, RateLimiterRedis>;
  }

  /** Counts an attempt. @throws Refusal `limited`. */
  async count(policy: Policy, ...key: string[]): Promise<void> {
    try {
      await this.limiters[policy].consume(keyOf(key));
    } catch (outcome) {
      if (!(outcome instanceof RateLimiterRes)) throw outcome;
      throw new Refusal('limited', Math.max(Math.ceil(outcome.msBeforeNext / 1_000), 1));
    }
  }

  /** Resets the counter of a key. */
  async forget(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].delete(keyOf(key));
  }

  async giveBack(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].reward(keyOf(key));
  }
}

function keyOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Attempt to sign in. */
export interface Try {
  readonly name: string;
  readonly address: string;
  /** Id of a browser that signed in with this name before. */
  readonly device: string | undefined;
}

/**
 * Rate limits of sign-in. A known browser is counted alone. Other clients are counted by network
 * and cannot lock it out, even from the same network.
 */
@Injectable()
export class SignInLimits {
  constructor(private readonly limits: Limits) {}

  /** Counts an attempt to sign in. @returns callback for its success. @throws Refusal `limited`. */
  begin(attempt: Try): Promise<() => Promise<void>> {
    return this.beginBy('pair', 'address', attempt);
  }

  /** Counts a recovery code instead of a password. Result and error are those of {@link begin}. */
  beginRecovery(attempt: Try): Promise<() => Promise<void>> {
    return this.beginBy('recovery', 'recovery_address', attempt);
  }

  private async beginBy(
    one: Policy,
    all: Policy,
    { name, address, device }: Try,
  ): Promise<() => Promise<void>> {
    const [subject, network] = [name.toLowerCase(), networkOf(address)];
    if (device !== undefined) {
      await this.limits.count(one, subject, 'device', device);
      return () => this.limits.forget(one, subject, 'device', device);
    }
    await this.limits.count(one, subject, 'network', network);
    await this.limits.count(all, network);
    return async () => {
      await this.limits.forget(one, subject, 'network', network);
      await this.limits.giveBack(all, network);
    };
  }

  /** Counts a password set by a link. Result and error are those of {@link begin}. */
  async beginLink(address: string): Promise<() => Promise<void>> {
    const network = networkOf(address);
    await this.limits.count('link', network);
    return () => this.limits.giveBack('link', network);
  }

  /** Counts a code of a second factor. Result and error are those of {@link begin}. */
  async beginCode(
    policy: 'code' | 'recovery',
    accountId: string,
    device: string | undefined,
  ): Promise<() => Promise<void>> {
    const key = device === undefined ? [accountId] : [accountId, device];
    await this.limits.count(policy, ...key);
    return () => this.limits.forget(policy, ...key);
  }
}
