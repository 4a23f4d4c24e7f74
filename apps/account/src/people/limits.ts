import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { REDIS } from '../account.config.js';
import { type LimitedAction, Refusal } from './refusal.js';

const hourSeconds = 3_600;
const daySeconds = 24 * hourSeconds;

/** Limits: `points` attempts in `duration` seconds. `limitedAction` selects the text on pages. */
const attemptPolicies = {
  /** Attempts with a password for one name, per network or trusted device. */
  pair: { points: 10, duration: hourSeconds, limitedAction: 'password' },
  /** Attempts with passwords for any name, per network, except those of trusted devices. */
  address: { points: 100, duration: daySeconds, limitedAction: 'password' },
  /**
   * Attempts with a recovery code for one name or account. They have their own limit, since a
   * person who needs a recovery code has often used up the limit of passwords.
   */
  recovery: { points: 10, duration: hourSeconds, limitedAction: 'recovery' },
  /** Attempts with recovery codes for any name, per network, except those of trusted devices. */
  recovery_address: { points: 100, duration: daySeconds, limitedAction: 'recovery' },
  /** Attempts with a TOTP code, per account; a trusted device has its own count. */
  code: { points: 10, duration: hourSeconds, limitedAction: 'code' },
  /** Attempts to change the password, per account. */
  password: { points: 10, duration: hourSeconds, limitedAction: 'change' },
  /** Attempts to set a password by a link, per network. */
  link: { points: 10, duration: hourSeconds, limitedAction: 'link' },
  /** Registrations without an invitation, per network. */
  registration: { points: 10, duration: daySeconds, limitedAction: 'registration' },
  /** Mails with a reset or verification link, per account. */
  mail: { points: 5, duration: hourSeconds, limitedAction: 'mail' },
  /** Mails with an invitation, per administrator who sends them. */
  invitation: { points: 50, duration: daySeconds, limitedAction: 'mail' },
  /** Requests for password-reset mails, per network of the client. */
  mail_address: { points: 20, duration: daySeconds, limitedAction: 'mail' },
  /** Mails with a notice about a change of the account, per account. */
  notice: { points: 20, duration: hourSeconds, limitedAction: 'mail' },
} as const satisfies Record<
  string,
  { points: number; duration: number; limitedAction: LimitedAction }
>;
/** Name of a rate limit in {@link attemptPolicies}. */
export type AttemptPolicy = keyof typeof attemptPolicies;

/**
 * Counts attempts against rate limits: in Redis for all replicas, and per process while Redis is
 * unavailable. Invariants:
 * - An attempt is counted before its work starts, so concurrent attempts cannot exceed the limit.
 *   After a success, the caller resets or refunds the count of most policies.
 * - Keys are hashes, since people enter passwords as names by mistake.
 */
@Injectable()
export class AttemptLimits {
  private readonly limiters: Record<AttemptPolicy, RateLimiterRedis>;

  constructor(@Inject(REDIS) redis: Redis | Cluster) {
    const limiters = Object.entries(attemptPolicies).map(([policy, { points, duration }]) => [
      policy,
      createLimiter(redis, `podcast-sync:limit:${policy}`, points, duration),
    ]);
    this.limiters = Object.fromEntries(limiters) as Record<AttemptPolicy, RateLimiterRedis>;
  }

  /** Counts an attempt for a key. @throws Refusal `limited` above the limit of the policy. */
  async count(policy: AttemptPolicy, ...key: string[]): Promise<void> {
    const waitSeconds = await consumePoint(this.limiters[policy], hashKey(key));
    if (waitSeconds > 0)
      throw new Refusal('limited', waitSeconds, attemptPolicies[policy].limitedAction);
  }

  /** Counts an attempt for a key. @returns false above the limit. */
  async tryCount(policy: AttemptPolicy, ...key: string[]): Promise<boolean> {
    return (await consumePoint(this.limiters[policy], hashKey(key))) === 0;
  }

  /** Sets the count of a key to 0, after an attempt that succeeded. */
  async reset(policy: AttemptPolicy, ...key: string[]): Promise<void> {
    await this.limiters[policy].delete(hashKey(key));
  }

  /** Subtracts one counted attempt, such as one that succeeded. */
  async refund(policy: AttemptPolicy, ...key: string[]): Promise<void> {
    await this.limiters[policy].reward(hashKey(key));
  }
}

/**
 * Creates a rate limit of `points` attempts in `durationSeconds`. It counts attempts in Redis, and
 * per process while Redis is unavailable.
 */
export function createLimiter(
  storeClient: Redis | Cluster,
  keyPrefix: string,
  points: number,
  durationSeconds: number,
): RateLimiterRedis {
  const limit = { keyPrefix, points, duration: durationSeconds };
  const insuranceLimiter = new RateLimiterMemory(limit);
  const inMemoryBlockOnConsumed = points + 1;
  const options = { storeClient, insuranceLimiter, inMemoryBlockOnConsumed };
  return new RateLimiterRedis({ ...options, ...limit });
}

/**
 * Counts an attempt of a key.
 *
 * @returns 0 if the attempt is allowed; above the limit, the seconds until the next allowed one.
 */
export async function consumePoint(limiter: RateLimiterRedis, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    return Math.max(Math.ceil(rejection.msBeforeNext / 1_000), 1);
  }
}

function hashKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
