import { Inject, Injectable } from '@nestjs/common';
import { rateLimitMetrics } from '#http';
import { networkOf, RateLimited } from '#identity';
import type { Cluster, Redis } from 'ioredis';
import type { RateLimiterRedis } from 'rate-limiter-flexible';
import { type AccountConfig, CONFIG, REDIS } from '../account.config.js';
import { consumePoint, createLimiter } from '../people/limits.js';

/** Kinds of requests to the issuer that have a rate limit. */
export type IssuerRequest = 'token' | 'authorize' | 'register' | 'user-code';

/** User codes that a network can try in ten minutes, of about 2.5 * 10^10 possible ones. */
const userCodeLimit = { points: 20, duration: 600 };

/** Rate limits per network, shared by all replicas in Redis; without Redis, per replica. */
@Injectable()
export class IssuerLimits {
  private readonly limiters: Readonly<Record<IssuerRequest, RateLimiterRedis>>;
  private readonly countOutcome = rateLimitMetrics();

  constructor(@Inject(REDIS) redis: Redis | Cluster, @Inject(CONFIG) config: AccountConfig) {
    const limiter = (kind: IssuerRequest, points: number, duration: number) =>
      createLimiter(redis, `podcast-sync:issuer:${kind}`, points, duration);
    this.limiters = {
      token: limiter('token', config.MAX_TOKEN_REQUESTS, 60),
      authorize: limiter('authorize', config.MAX_AUTHORIZE_REQUESTS, 60),
      register: limiter('register', config.MAX_REGISTRATIONS, 3_600),
      'user-code': limiter('user-code', userCodeLimit.points, userCodeLimit.duration),
    };
  }

  /**
   * Counts a request.
   *
   * @param isFromWebPage true for a request that a web page sent. These requests count separately,
   *   so that web pages cannot use up the limits of apps.
   * @throws RateLimited above the limit.
   */
  async countRequest(kind: IssuerRequest, address: string, isFromWebPage = false): Promise<void> {
    const key = networkOf(address) + (isFromWebPage ? ' page' : '');
    const waitSeconds = await consumePoint(this.limiters[kind], key);
    if (waitSeconds === 0) return;
    this.countOutcome(kind, 'limited');
    throw new RateLimited(waitSeconds);
  }
}
