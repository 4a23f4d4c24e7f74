import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { REDIS } from '../account.config.js';
import { networkOf } from '#identity';
import { type Attempt, Refusal } from './refusal.js';

const hour = 3_600;
const day = 24 * hour;

/** Rate limits: `points` attempts of a kind in `duration` seconds. */
const policies = {
  /** Passwords for one name, per network or trusted device. */
  pair: { points: 10, duration: hour, attempt: 'password' },
  /** Passwords for any name, per network, without trusted devices. */
  address: { points: 100, duration: day, attempt: 'password' },
  /** Recovery codes, counted separately: they help a person who forgot the password. */
  recovery: { points: 10, duration: hour, attempt: 'recovery' },
  recovery_address: { points: 100, duration: day, attempt: 'recovery' },
  /** Codes of the second factor, per account or trusted device. */
  code: { points: 10, duration: hour, attempt: 'code' },
  /** Changes of the password, per account. */
  password: { points: 10, duration: hour, attempt: 'change' },
  /** Passwords set by links, per network. */
  link: { points: 10, duration: hour, attempt: 'link' },
  /** Open registrations, per network. */
  registration: { points: 10, duration: day, attempt: 'registration' },
  /** Mails per account and per requesting network. */
  mail: { points: 5, duration: hour, attempt: 'mail' },
  mail_address: { points: 20, duration: day, attempt: 'mail' },
  /** Mails about changes, per account. */
  notice: { points: 20, duration: hour, attempt: 'mail' },
} as const satisfies Record<string, { points: number; duration: number; attempt: Attempt }>;
/** Name of a rate limit. */
export type Policy = keyof typeof policies;

/**
 * Rate limits shared by all replicas in Redis, and per process while Redis is unavailable.
 * Invariants:
 * - An attempt is counted before its work starts and refunded on success. So concurrent attempts
 *   cannot exceed the limit.
 * - Keys are hashes, since people enter passwords as names by mistake.
 */
@Injectable()
export class Limits {
  private readonly limiters: Record<Policy, RateLimiterRedis>;

  constructor(@Inject(REDIS) redis: Redis | Cluster) {
    const limiters = Object.entries(policies).map(([policy, { points, duration }]) => [
      policy,
      createLimiter(redis, `podcast-sync:limit:${policy}`, points, duration),
    ]);
    this.limiters = Object.fromEntries(limiters) as Record<Policy, RateLimiterRedis>;
  }

  /** Counts an attempt. @throws Refusal `limited`. */
  async count(policy: Policy, ...key: string[]): Promise<void> {
    const waitSeconds = await consumePoint(this.limiters[policy], hashKey(key));
    if (waitSeconds > 0) throw new Refusal('limited', waitSeconds, policies[policy].attempt);
  }

  /** Counts an attempt. @returns false at the limit. */
  async tryCount(policy: Policy, ...key: string[]): Promise<boolean> {
    return (await consumePoint(this.limiters[policy], hashKey(key))) === 0;
  }

  /** Resets the counter of a key. */
  async reset(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].delete(hashKey(key));
  }

  /** Reverts one attempt. */
  async refund(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].reward(hashKey(key));
  }
}

/** Creates a limit of `points` in `duration` seconds, in Redis; without Redis, per process. */
export function createLimiter(
  storeClient: Redis | Cluster,
  keyPrefix: string,
  points: number,
  duration: number,
): RateLimiterRedis {
  const insuranceLimiter = new RateLimiterMemory({ keyPrefix, points, duration });
  const inMemoryBlockOnConsumed = points + 1;
  const options = { storeClient, insuranceLimiter, inMemoryBlockOnConsumed };
  return new RateLimiterRedis({ ...options, keyPrefix, points, duration });
}

/** Consumes a point of a key. @returns 0, or at the limit the seconds until the next point. */
export async function consumePoint(limiter: RateLimiterRedis, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (outcome) {
    if (!(outcome instanceof RateLimiterRes)) throw outcome;
    return Math.max(Math.ceil(outcome.msBeforeNext / 1_000), 1);
  }
}

function hashKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Attempt to sign in. */
export interface SignInAttempt {
  readonly name: string;
  readonly address: string;
  /** Id of a device that signed in with this name before. */
  readonly device: string | undefined;
}

/**
 * Rate limits of sign-in. Each trusted device has its own counter. Other clients are counted by
 * network and cannot lock it out, even from the same network.
 */
@Injectable()
export class SignInLimits {
  constructor(private readonly limits: Limits) {}

  /** Counts a sign-in. @returns callback to call on success. @throws Refusal `limited`. */
  countSignIn(attempt: SignInAttempt): Promise<() => Promise<void>> {
    return this.countAttempt('pair', 'address', attempt);
  }

  /** Counts a recovery code instead of a password, like {@link countSignIn}. */
  countRecovery(attempt: SignInAttempt): Promise<() => Promise<void>> {
    return this.countAttempt('recovery', 'recovery_address', attempt);
  }

  private async countAttempt(
    pairPolicy: Policy,
    networkPolicy: Policy,
    { name, address, device }: SignInAttempt,
  ): Promise<() => Promise<void>> {
    const [subject, network] = [name.toLowerCase(), networkOf(address)];
    if (device !== undefined) {
      await this.limits.count(pairPolicy, subject, 'device', device);
      return () => this.limits.reset(pairPolicy, subject, 'device', device);
    }
    await this.limits.count(pairPolicy, subject, 'network', network);
    await this.limits.count(networkPolicy, network);
    return async () => {
      await this.limits.reset(pairPolicy, subject, 'network', network);
      await this.limits.refund(networkPolicy, network);
    };
  }

  /** Counts a password set by a link, like {@link countSignIn}. */
  async countLink(address: string): Promise<() => Promise<void>> {
    const network = networkOf(address);
    await this.limits.count('link', network);
    return () => this.limits.refund('link', network);
  }

  /** Counts a code of a second factor, like {@link countSignIn}. */
  async countCode(
    policy: 'code' | 'recovery',
    accountId: string,
    device: string | undefined,
  ): Promise<() => Promise<void>> {
    const key = device === undefined ? [accountId] : [accountId, device];
    await this.limits.count(policy, ...key);
    return () => this.limits.reset(policy, ...key);
  }
}
