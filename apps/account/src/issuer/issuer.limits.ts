import { Inject, Injectable } from '@nestjs/common';
import { rateLimitMetrics } from '#http';
import { networkOf, RateLimited } from '#identity';
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { type AccountConfig, CONFIG, REDIS } from '../account.config.js';

/** Kinds of requests that have a rate limit. */
export type IssuerRequest = 'token' | 'authorize' | 'register' | 'user-code';

/** User codes that a network can try in ten minutes, of about 2.5 * 10^10 possible ones. */
const userCodes = { points: 20, duration: 600 };

/** Rate limits per network, shared by all replicas in Redis; without Redis, per replica. */
@Injectable()
export class IssuerLimits {
  private readonly limiters: Readonly<Record<IssuerRequest, RateLimiterRedis>>;
  private readonly count = rateLimitMetrics();

  constructor(@Inject(REDIS) redis: Redis | Cluster, @Inject(CONFIG) config: AccountConfig) {
    const limiter = (kind: IssuerRequest, points: number, duration: number) =>
      new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `podcast-sync:issuer:${kind}`,
        points,
        duration,
        inMemoryBlockOnConsumed: points + 1,
        insuranceLimiter: new RateLimiterMemory({ points, duration }),
      });
    this.limiters = {
      token: limiter('token', config.MAX_TOKEN_REQUESTS, 60),
      authorize: limiter('authorize', config.MAX_AUTHORIZE_REQUESTS, 60),
      register: limiter('register', config.MAX_REGISTRATIONS, 3_600),
      'user-code': limiter('user-code', userCodes.points, userCodes.duration),
    };
  }

  /**
   * Counts a request.
   *
   * @param ofPage true counts it separately, so that pages do not use up the limits of apps.
   * @throws RateLimited above the limit.
   */
  async consume(kind: IssuerRequest, address: string, ofPage = false): Promise<void> {
    try {
      await this.limiters[kind].consume(networkOf(address) + (ofPage ? ' page' : ''));
    } catch (outcome) {
      if (!(outcome instanceof RateLimiterRes)) throw outcome;
      this.count(kind, 'limited');
      throw new RateLimited(Math.max(Math.ceil(outcome.msBeforeNext / 1_000), 1));
    }
  }
}
