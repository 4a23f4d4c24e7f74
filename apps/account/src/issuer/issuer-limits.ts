import { Inject, Injectable } from '@nestjs/common';
import { rateLimitMetrics } from '#http';
import { networkOf, RateLimited } from '#identity';
import type { Cluster, Redis } from 'ioredis';
import type { RateLimiterRedis } from 'rate-limiter-flexible';
import { type AccountConfig, CONFIG, REDIS } from '../account.config.js';
import { consumePoint, createLimiter } from '../people/limits.js';

/** Kinds of requests to the issuer that have a rate limit. */
export type IssuerRequest = 'token' | 'authorize' | 'register' | 'user-code';

/** A network can try 20 user codes in 600 s. There are about 2.5 * 10^10 possible codes. */
const userCodeLimit = { points: 20, duration: 600 };

/**
 * Rate limits per network. All replicas count in Redis. While Redis is unavailable, each replica
 * counts separately.
 */
@Injectable()
export class IssuerLimits {
  private readonly limiters: Readonly<Record<IssuerRequest, RateLimiterRedis>>;
  private readonly countOutcome = rateLimitMetrics();

  constructor(@Inject(REDIS) redis: Redis | Cluster, @Inject(CONFIG) config: AccountConfig) {
    const createKindLimiter = (kind: IssuerRequest, points: number, duration: number) =>
      createLimiter(redis, `podcast-sync:issuer:${kind}`, points, duration);
    this.limiters = {
      token: createKindLimiter('token', config.MAX_TOKEN_REQUESTS, 60),
      authorize: createKindLimiter('authorize', config.MAX_AUTHORIZE_REQUESTS, 60),
      register: createKindLimiter('register', config.MAX_REGISTRATIONS, 3_600),
      'user-code': createKindLimiter('user-code', userCodeLimit.points, userCodeLimit.duration),
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
