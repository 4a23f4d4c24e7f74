import { quota } from '#database';
import { ConfigurationError, redisConfig, type RedisConfig } from '#runtime';
import { serviceConfig } from '#runtime/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue/queue.board.js';

const redis = redisConfig.shape;

/** The variables of a Redis of the queue's own. Its URL has no default: whether there is such a Redis is to be known. */
const ownRedis = { ...redis, REDIS_URL: redis.REDIS_URL.unwrap().optional() };

/** The same variables by the names that they have in the environment, `QUEUE_REDIS_…`. */
const queueVariables = Object.fromEntries(
  Object.entries(ownRedis).map(([name, variable]) => [`QUEUE_${name}`, variable]),
) as { [Name in keyof typeof ownRedis as `QUEUE_${Name}`]: (typeof ownRedis)[Name] };

/** The configuration of the deletion worker. */
export const deletionWorkerConfig = z
  .object({
    ...serviceConfig.shape,
    ...queueBoardConfig.shape,
    ...queueVariables,
    DELETION_CONCURRENCY: z.coerce
      .number()
      .int()
      .min(1)
      .max(100)
      .default(4)
      .describe('Deletions that one worker runs at once.'),
    QUOTA_TOMBSTONES: quota(10_000, 'Deleted subscriptions that one user may have; the oldest go for good.'),
    QUOTA_DELETION_RECORDS: quota(10_000, 'Deletion records that have ended which one user may have; the oldest go.'),
  })
  .describe(
    "Every `REDIS_` variable may be given with the prefix `QUEUE_`, for a Redis of the queue's own, which should persist; " +
      "those without the prefix are the transport's alone then. Without `QUEUE_REDIS_URL`, `QUEUE_REDIS_SENTINELS` and " +
      "`QUEUE_REDIS_CLUSTER` the queue is on the transport's Redis, and a password or certificates for the queue are an error.",
  );
export type DeletionWorkerConfig = z.output<typeof deletionWorkerConfig>;

/** How many tombstones and ended deletion records one user may have. */
export type DeletionQuotas = Pick<DeletionWorkerConfig, 'QUOTA_TOMBSTONES' | 'QUOTA_DELETION_RECORDS'>;

/** The quotas, as a token for injection. */
export const QUOTAS = Symbol('quotas');

/**
 * How the queue's Redis is reached: by the variables that begin with `QUEUE_` alone, or like the transport's.
 *
 * @throws ConfigurationError when a password or the like is given for the queue, and no server.
 */
export function queueRedis(config: DeletionWorkerConfig): RedisConfig {
  const names = Object.keys(ownRedis) as (keyof typeof ownRedis)[];
  const own = Object.fromEntries(names.map((name) => [name, config[`QUEUE_${name}`]])) as z.output<
    z.ZodObject<typeof ownRedis>
  >;
  if (own.REDIS_URL ?? own.REDIS_SENTINELS ?? own.REDIS_CLUSTER)
    return { ...own, REDIS_URL: own.REDIS_URL ?? redis.REDIS_URL.parse(undefined) };
  const useless = own.REDIS_USERNAME ?? own.REDIS_PASSWORD ?? own.REDIS_SENTINEL_PASSWORD ?? own.REDIS_TLS_CA;
  if (useless !== undefined || own.REDIS_TLS)
    throw new ConfigurationError(['QUEUE_REDIS_URL: is missing, as other QUEUE_REDIS_ variables are set']);
  return config;
}
