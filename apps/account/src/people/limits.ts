import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { REDIS } from '../account.config.js';
import { networkOf } from '#identity';
import { Refusal } from './refusal.js';

const hour = 3_600;
const day = 24 * hour;

/** How often something may be tried, in how many seconds. */
const policies = {
  /** Passwords and recovery codes for one name from one network, or from one browser that is known. */
  pair: { points: 10, duration: hour },
  /** The same for whatever names from one network, where the browser is not known. */
  address: { points: 100, duration: day },
  /** Codes of a second factor of one account, by whoever knows its password. */
  code: { points: 10, duration: hour },
  /** Changes of the password of one account, by whoever is signed in. */
  password: { points: 10, duration: hour },
  /** Passwords that are chosen by links from one network. */
  link: { points: 10, duration: hour },
  /** Accounts that one network makes, where everybody may. */
  registration: { points: 10, duration: day },
  /** Mails to one account, and asked for from one network. */
  mail: { points: 5, duration: hour },
  mail_address: { points: 20, duration: day },
} as const;
export type Policy = keyof typeof policies;

/**
 * Limits of tries, counted in Redis for all replicas together, and in this process while Redis is away.
 * - A try is counted before anything is computed for it, and given back when it succeeds: as many at once pass as one
 *   after another.
 * - Keys are hashes: what people enter as their name may be a password.
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
        new RateLimiterRedis({ storeClient: redis, insuranceLimiter, inMemoryBlockOnConsumed, ...options }),
      ];
    });
    this.limiters = Object.fromEntries(limiters) as Record<Policy, RateLimiterRedis>;
  }

  /** Counts a try. @throws Refusal `limited`. */
  async count(policy: Policy, ...key: string[]): Promise<void> {
    try {
      await this.limiters[policy].consume(keyOf(key));
    } catch (outcome) {
      if (!(outcome instanceof RateLimiterRes)) throw outcome;
      throw new Refusal('limited', Math.max(Math.ceil(outcome.msBeforeNext / 1_000), 1));
    }
  }

  /** Forgets all tries. */
  async forget(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].delete(keyOf(key));
  }

  /** Gives one try back. */
  async giveBack(policy: Policy, ...key: string[]): Promise<void> {
    await this.limiters[policy].reward(keyOf(key));
  }
}

/** A key of whatever parts, in which none can be read. */
function keyOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Who tries to sign in: as whom, from where, with which browser. */
export interface Try {
  readonly name: string;
  readonly address: string;
  /** Of a browser that has signed in as this name before. */
  readonly device: string | undefined;
}

/**
 * The limits of sign-in. Strangers can't keep a person from signing in: they are counted apart, by their own network, and
 * who comes with a known browser is counted by that alone, even from the strangers' network.
 */
@Injectable()
export class SignInLimits {
  constructor(private readonly limits: Limits) {}

  /**
   * Counts a try.
   *
   * @returns what is to be called when it succeeds.
   * @throws Refusal `limited`.
   */
  async begin({ name, address, device }: Try): Promise<() => Promise<void>> {
    const [subject, network] = [name.toLowerCase(), networkOf(address)];
    if (device !== undefined) {
      await this.limits.count('pair', subject, 'device', device);
      return () => this.limits.forget('pair', subject, 'device', device);
    }
    await this.limits.count('pair', subject, 'network', network);
    await this.limits.count('address', network);
    return async () => {
      await this.limits.forget('pair', subject, 'network', network);
      await this.limits.giveBack('address', network);
    };
  }

  /** Counts a password that is chosen by a link. @returns what is to be called when the link is used. */
  async beginLink(address: string): Promise<() => Promise<void>> {
    const network = networkOf(address);
    await this.limits.count('link', network);
    return () => this.limits.giveBack('link', network);
  }

  /** Counts a code of a second factor. @returns what is to be called when it is right. */
  async beginCode(accountId: string, device: string | undefined): Promise<() => Promise<void>> {
    const key = device === undefined ? [accountId] : [accountId, device];
    await this.limits.count('code', ...key);
    return () => this.limits.forget('code', ...key);
  }
}
