import { once } from 'node:events';
import { networkOf, RateLimited } from '#identity';
import { connectRedis, type RedisConfig } from '#redis';
import { LastState, type Log } from '#runtime';
import type { Cluster, Redis } from 'ioredis';
import type { FastifyReply } from 'fastify';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from './http.config.js';
import { rateLimitMetrics } from './http.metrics.js';

/** Name of a rate limit: it counts the requests of each address, or of each user. */
type RateLimitPolicy = 'address' | 'user';

/** Variables of the rate limits; `undefined` means no limit. */
interface RateLimitConfig {
  readonly RATE_LIMIT_PER_ADDRESS?: RateLimit;
  readonly RATE_LIMIT_PER_USER?: RateLimit;
}

/** Time in ms after which a request that Redis has not counted is admitted uncounted. */
const countLimitMs = 250;
/** Maximum time in ms that an app's start waits for Redis. Limits apply once Redis is ready. */
const openLimitMs = 2_000;

/**
 * Rate limits by address and by user, counted in Redis for all replicas. Off by default.
 * Invariants:
 * - If Redis is unavailable or slow, a request is admitted and counted as `unchecked` in a metric.
 * - After a request above its limit, this process rejects further ones without a call to Redis,
 *   until the window ends.
 */
export class RateLimits {
  private readonly redis: Redis | Cluster | undefined;
  private readonly limiters = new Map<RateLimitPolicy, RateLimiterRedis>();
  private readonly countOutcome = rateLimitMetrics();
  private readonly lastState = new LastState<'counting' | 'unchecked'>('counting');

  constructor(
    config: RedisConfig & RateLimitConfig,
    private readonly log: Log,
  ) {
    const policies = { address: config.RATE_LIMIT_PER_ADDRESS, user: config.RATE_LIMIT_PER_USER };
    if (!policies.address && !policies.user) return;
    this.redis = connectRedis(config, { commandTimeout: countLimitMs });
    // Ignores errors of the connection, because `countRequest` logs failures.
    this.redis.on('error', () => {});
    for (const policy of ['address', 'user'] as const) {
      const limit = policies[policy];
      if (limit) this.limiters.set(policy, createLimiter(this.redis, policy, limit));
    }
  }

  /** Resolves when Redis is ready, or after {@link openLimitMs} without Redis. */
  async waitUntilOpen(): Promise<void> {
    if (this.redis && this.redis.status !== 'ready')
      await once(this.redis, 'ready', { signal: AbortSignal.timeout(openLimitMs) }).catch(() => {});
  }

  /** Counts a request of an address. @throws RateLimited for too many requests of the address. */
  countForAddress(address: string, reply: FastifyReply): Promise<void> {
    return this.countRequest('address', networkOf(address), reply);
  }

  /** Counts a request of a user. @throws RateLimited for too many requests of the user. */
  countForUser(userId: string, reply: FastifyReply): Promise<void> {
    return this.countRequest('user', userId, reply);
  }

  close(): void {
    this.redis?.disconnect();
  }

  private async countRequest(
    policy: RateLimitPolicy,
    key: string,
    reply: FastifyReply,
  ): Promise<void> {
    const limiter = this.limiters.get(policy);
    if (!limiter) return;
    try {
      addHeaders(reply, policy, limiter, await limiter.consume(key));
      if (this.lastState.changeTo('counting'))
        this.log.info({ outage: 'Redis' }, 'rate limits applied again: Redis available');
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) {
        this.countOutcome(policy, 'unchecked');
        if (this.lastState.changeTo('unchecked'))
          this.log.warn(
            { outage: 'Redis', err: rejection },
            'rate limits not applied, all requests admitted: Redis unavailable',
          );
        return;
      }
      this.countOutcome(policy, 'limited');
      addHeaders(reply, policy, limiter, rejection);
      throw new RateLimited(getSecondsToReset(rejection));
    }
  }
}

function createLimiter(
  redis: Redis | Cluster,
  policy: RateLimitPolicy,
  { quota, seconds: window }: { quota: number; seconds: number },
) {
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `podcast-sync:rate-limit:${policy}`,
    points: quota,
    duration: window,
    inMemoryBlockOnConsumed: quota + 1,
  });
}

/** Adds headers RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers). */
function addHeaders(
  reply: FastifyReply,
  policy: RateLimitPolicy,
  limiter: RateLimiterRedis,
  result: RateLimiterRes,
): void {
  const addItem = (field: string, item: string) => {
    const existing = reply.getHeader(field);
    void reply.header(field, existing === undefined ? item : `${String(existing)}, ${item}`);
  };
  addItem('ratelimit-policy', `"${policy}";q=${limiter.points};w=${limiter.duration}`);
  addItem(
    'ratelimit',
    `"${policy}";r=${Math.max(result.remainingPoints, 0)};t=${getSecondsToReset(result)}`,
  );
}

function getSecondsToReset(result: RateLimiterRes): number {
  return Math.max(Math.ceil(result.msBeforeNext / 1_000), 1);
}
