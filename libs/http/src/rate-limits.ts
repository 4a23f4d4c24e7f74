import { once } from 'node:events';
import { networkOf, RateLimited } from '#identity';
import { connectRedis, type RedisConfig } from '#redis';
import { LastState, type Log } from '#runtime';
import type { Cluster, Redis } from 'ioredis';
import type { FastifyReply } from 'fastify';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from './http.config.js';
import { rateLimitMetrics } from './http.metrics.js';

/** The key by which a rate limit counts requests. */
type RateLimitKind = 'address' | 'user';

/** Variables of the rate limits; `undefined` means no limit. */
interface RateLimitConfig {
  readonly RATE_LIMIT_PER_ADDRESS?: RateLimit;
  readonly RATE_LIMIT_PER_USER?: RateLimit;
}

/** Maximum time in ms that a request waits for Redis to count it. Then it is admitted uncounted. */
const countLimitMs = 250;
/**
 * Maximum time in ms that the start waits for Redis. Then the app starts; limits apply when Redis
 * is ready.
 */
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
  private readonly limiters = new Map<RateLimitKind, RateLimiterRedis>();
  private readonly countOutcome = rateLimitMetrics();
  private readonly lastState = new LastState<'counting' | 'unchecked'>('counting');

  constructor(
    config: RedisConfig & RateLimitConfig,
    private readonly log: Log,
  ) {
    const policies = { address: config.RATE_LIMIT_PER_ADDRESS, user: config.RATE_LIMIT_PER_USER };
    if (!policies.address && !policies.user) return;
    this.redis = connectRedis(config, { commandTimeout: countLimitMs });
    // Ignores errors of the connection: `check` logs failures.
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
    return this.check('address', networkOf(address), reply);
  }

  /** Counts a request of a user. @throws RateLimited for too many requests of the user. */
  countForUser(userId: string, reply: FastifyReply): Promise<void> {
    return this.check('user', userId, reply);
  }

  close(): void {
    this.redis?.disconnect();
  }

  private async check(policy: RateLimitKind, key: string, reply: FastifyReply): Promise<void> {
    const limit = this.limiters.get(policy);
    if (!limit) return;
    try {
      addHeaders(reply, policy, limit, await limit.consume(key));
      if (this.lastState.changeTo('counting'))
        this.log.info({ outage: 'Redis' }, 'rate limits applied again: Redis available');
    } catch (outcome) {
      if (!(outcome instanceof RateLimiterRes)) {
        this.countOutcome(policy, 'unchecked');
        if (this.lastState.changeTo('unchecked'))
          this.log.warn(
            { outage: 'Redis', err: outcome },
            'rate limits not applied, all requests admitted: Redis unavailable',
          );
        return;
      }
      this.countOutcome(policy, 'limited');
      addHeaders(reply, policy, limit, outcome);
      throw new RateLimited(secondsToReset(outcome));
    }
  }
}

function createLimiter(
  redis: Redis | Cluster,
  policy: RateLimitKind,
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

/** Adds a limit to RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers). */
function addHeaders(
  reply: FastifyReply,
  policy: RateLimitKind,
  limit: RateLimiterRedis,
  result: RateLimiterRes,
): void {
  const add = (field: string, item: string) => {
    const before = reply.getHeader(field);
    void reply.header(field, before === undefined ? item : `${String(before)}, ${item}`);
  };
  add('ratelimit-policy', `"${policy}";q=${limit.points};w=${limit.duration}`);
  add(
    'ratelimit',
    `"${policy}";r=${Math.max(result.remainingPoints, 0)};t=${secondsToReset(result)}`,
  );
}

function secondsToReset(result: RateLimiterRes): number {
  return Math.max(Math.ceil(result.msBeforeNext / 1_000), 1);
}
