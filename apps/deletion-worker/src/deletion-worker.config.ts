import { quota } from '#database';
import { ConfigurationError, redisConfig, type RedisConfig } from '#runtime';
import { serviceConfig } from '#runtime/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue/queue.board.js';

const redis = redisConfig.shape;

/** The configuration of the deletion worker. */
export const deletionWorkerConfig = z.object({
  ...serviceConfig.shape,
  ...queueBoardConfig.shape,
  QUEUE_REDIS_URL: redis.REDIS_URL.unwrap()
    .optional()
    .describe(
      "The queue's Redis, which should persist. When neither this nor Sentinels nor a Cluster are set, the queue is on the transport's Redis.",
    ),
  QUEUE_REDIS_SENTINELS: redis.REDIS_SENTINELS.describe(
    "Sentinels of the queue's Redis. None of the transport's variables hold for the queue then, nor with a Cluster or URL of its own.",
  ),
  QUEUE_REDIS_SENTINEL_MASTER: redis.REDIS_SENTINEL_MASTER,
  QUEUE_REDIS_SENTINEL_PASSWORD: redis.REDIS_SENTINEL_PASSWORD,
  QUEUE_REDIS_CLUSTER: redis.REDIS_CLUSTER.describe("Some nodes of the queue's Redis Cluster."),
  QUEUE_REDIS_USERNAME: redis.REDIS_USERNAME,
  QUEUE_REDIS_PASSWORD: redis.REDIS_PASSWORD,
  QUEUE_REDIS_TLS: redis.REDIS_TLS,
  QUEUE_REDIS_TLS_CA: redis.REDIS_TLS_CA,
  DELETION_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(4)
    .describe('Deletions that one worker runs at once.'),
  QUOTA_TOMBSTONES: quota(10_000, 'Deleted subscriptions that one user may have; the oldest go for good.'),
  QUOTA_DELETION_RECORDS: quota(10_000, 'Deletion records that have ended which one user may have; the oldest go.'),
});
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
  const own: RedisConfig = {
    REDIS_URL: config.QUEUE_REDIS_URL ?? redis.REDIS_URL.parse(undefined),
    REDIS_SENTINELS: config.QUEUE_REDIS_SENTINELS,
    REDIS_SENTINEL_MASTER: config.QUEUE_REDIS_SENTINEL_MASTER,
    REDIS_SENTINEL_PASSWORD: config.QUEUE_REDIS_SENTINEL_PASSWORD,
    REDIS_CLUSTER: config.QUEUE_REDIS_CLUSTER,
    REDIS_USERNAME: config.QUEUE_REDIS_USERNAME,
    REDIS_PASSWORD: config.QUEUE_REDIS_PASSWORD,
    REDIS_TLS: config.QUEUE_REDIS_TLS,
    REDIS_TLS_CA: config.QUEUE_REDIS_TLS_CA,
  };
  if (config.QUEUE_REDIS_URL ?? own.REDIS_SENTINELS ?? own.REDIS_CLUSTER) return own;
  const useless = own.REDIS_USERNAME ?? own.REDIS_PASSWORD ?? own.REDIS_SENTINEL_PASSWORD ?? own.REDIS_TLS_CA;
  if (useless !== undefined || own.REDIS_TLS)
    throw new ConfigurationError(['QUEUE_REDIS_URL: is missing, as other QUEUE_REDIS_ variables are set']);
  return config;
}
