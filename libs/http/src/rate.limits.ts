import { once } from 'node:events';
import { networkOf, RateLimited } from '#identity';
import { connectRedis, type RedisConfig } from '#redis';
import { Condition, type Log } from '#runtime';
import type { Cluster, Redis } from 'ioredis';
import type { FastifyReply } from 'fastify';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from './http.config.js';
import { rateLimitMetrics } from './http.metrics.js';

/** Whose requests a limit counts. */
type Policy = 'address' | 'user';

/** The limits; what is not set has none. */
interface RateLimitConfig {
  readonly RATE_LIMIT_PER_ADDRESS?: RateLimit;
  readonly RATE_LIMIT_PER_USER?: RateLimit;
}

/** How long Redis may take to count a request, in milliseconds. */
const countLimitMs = 250;
/** How long a start waits for Redis, in milliseconds. */
const openLimitMs = 2_000;

/**
 * Limits of requests for each address and each user, counted in Redis for all replicas together. Off unless
 * configured.
 * - A request that can't be counted, as Redis is away or slow, is let through, and that is counted in a metric.
 * - Who is over a limit is refused from memory, without asking Redis, until requests are allowed again.
 */
export class RateLimits {
  private readonly redis: Redis | Cluster | undefined;
  private readonly limiters = new Map<Policy, RateLimiterRedis>();
  private readonly count = rateLimitMetrics();
  private readonly condition = new Condition<'counting' | 'unchecked'>('counting');

  constructor(
    config: RedisConfig & RateLimitConfig,
    private readonly log: Log,
  ) {
    const policies = { address: config.RATE_LIMIT_PER_ADDRESS, user: config.RATE_LIMIT_PER_USER };
    if (!policies.address && !policies.user) return;
    this.redis = connectRedis(config, { commandTimeout: countLimitMs });
    // Failures are handled where a request is counted.
    this.redis.on('error', () => {});
    for (const [policy, limit] of Object.entries(policies) as [Policy, (typeof policies)[Policy]][]) {
      if (limit) this.limiters.set(policy, limiter(this.redis, policy, limit));
    }
  }

  /** Resolves when Redis can be asked, or after {@link openLimitMs}: a gateway also starts while Redis is away. */
  async opened(): Promise<void> {
    if (this.redis && this.redis.status !== 'ready')
      await once(this.redis, 'ready', { signal: AbortSignal.timeout(openLimitMs) }).catch(() => {});
  }

  /** @throws RateLimited when this address has sent too many requests. */
  ofAddress(address: string, reply: FastifyReply): Promise<void> {
    return this.check('address', networkOf(address), reply);
  }

  /** @throws RateLimited when this user has sent too many requests. */
  ofUser(userId: string, reply: FastifyReply): Promise<void> {
    return this.check('user', userId, reply);
  }

  close(): void {
    this.redis?.disconnect();
  }

  private async check(policy: Policy, key: string, reply: FastifyReply): Promise<void> {
    const limit = this.limiters.get(policy);
    if (!limit) return;
    try {
      addHeaders(reply, policy, limit, await limit.consume(key));
      if (this.condition.becomes('counting')) this.log.info('requests are counted for the rate limits again');
    } catch (outcome) {
      if (!(outcome instanceof RateLimiterRes)) {
        this.count(policy, 'unchecked');
        if (this.condition.becomes('unchecked'))
          this.log.warn({ err: outcome }, 'requests are let through without rate limits, as Redis is away');
        return;
      }
      this.count(policy, 'limited');
      addHeaders(reply, policy, limit, outcome);
      throw new RateLimited(seconds(outcome));
    }
  }
}

function limiter(
  redis: Redis | Cluster,
  policy: Policy,
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

/** Adds a limit to the fields of draft-ietf-httpapi-ratelimit-headers, which are lists with an item for each limit. */
function addHeaders(reply: FastifyReply, policy: Policy, limit: RateLimiterRedis, result: RateLimiterRes): void {
  const add = (field: string, item: string) => {
    const before = reply.getHeader(field);
    void reply.header(field, before === undefined ? item : `${String(before)}, ${item}`);
  };
  add('ratelimit-policy', `"${policy}";q=${limit.points};w=${limit.duration}`);
  add('ratelimit', `"${policy}";r=${Math.max(result.remainingPoints, 0)};t=${seconds(result)}`);
}

function seconds(result: RateLimiterRes): number {
  return Math.max(Math.ceil(result.msBeforeNext / 1_000), 1);
}
