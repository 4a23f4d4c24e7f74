import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { REDIS } from '../account.config.js';
import { type LimitedAction, Refusal } from './refusal.js';

const hour = 3_600;
const day = 24 * hour;

/** Rate limits: `points` attempts in `duration` seconds. `attempt` selects the page's text. */
const policies = {
  /** Passwords for one name, per network or trusted device. */
  pair: { points: 10, duration: hour, attempt: 'password' },
  /** Passwords for any name, per network. Attempts of trusted devices do not count. */
  address: { points: 100, duration: day, attempt: 'password' },
  /**
   * Recovery codes for one name or account. They have their own limit, since a person who needs one
   * has often used up the limit of passwords.
   */
  recovery: { points: 10, duration: hour, attempt: 'recovery' },
  /** Recovery codes for any name, per network. Attempts of trusted devices do not count. */
  recovery_address: { points: 100, duration: day, attempt: 'recovery' },
  /** TOTP codes, per account; a trusted device has its own count. */
  code: { points: 10, duration: hour, attempt: 'code' },
  /** Changes of the password, per account. */
  password: { points: 10, duration: hour, attempt: 'change' },
  /** Passwords set by links, per network. */
  link: { points: 10, duration: hour, attempt: 'link' },
  /** Open registrations, per network. */
  registration: { points: 10, duration: day, attempt: 'registration' },
  /** Mails with links, per account. */
  mail: { points: 5, duration: hour, attempt: 'mail' },
  /** Mails with invitations, per administrator. */
  invitation: { points: 50, duration: day, attempt: 'mail' },
  /** Requests for password-reset mails, per network of the client. */
  mail_address: { points: 20, duration: day, attempt: 'mail' },
  /** Mails with notices about changes, per account. */
  notice: { points: 20, duration: hour, attempt: 'mail' },
} as const satisfies Record<string, { points: number; duration: number; attempt: LimitedAction }>;
/** Name of a rate limit. */
export type Policy = keyof typeof policies;

/**
 * Counts attempts against rate limits: in Redis for all replicas, and per process while Redis is
 * unavailable. Invariants:
 * - An attempt is counted before its work starts, so concurrent attempts cannot exceed the limit.
 *   After a success, the caller resets or refunds the count of most policies.
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

  /** Counts an attempt of a key, such as an account id. @throws Refusal `limited` at the limit. */
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

  /** Subtracts one counted attempt. */
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
