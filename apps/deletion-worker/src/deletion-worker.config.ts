import { quota } from '#database';
import { redisConfig, type RedisConfig } from '#redis';
import { ConfigurationError } from '#runtime';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue/queue.board.js';

const redis = redisConfig.shape;

/** The variables of a Redis of one's own. Its URL has no default: whether there is such a Redis is to be known. */
const ownRedis = { ...redis, REDIS_URL: redis.REDIS_URL.unwrap().optional() };

/** What may be on a Redis of its own: the queue of deletions, and the stream of events. */
type Owner = 'QUEUE' | 'EVENTS';

/** The same variables by the names that they have in the environment, as `QUEUE_REDIS_…`. */
function variablesOf<Of extends Owner>(owner: Of) {
  const named = Object.entries(ownRedis).map(([name, variable]) => [`${owner}_${name}`, variable]);
  return Object.fromEntries(named) as {
    [Name in keyof typeof ownRedis as `${Of}_${Name}`]: (typeof ownRedis)[Name];
  };
}

/** The configuration of the deletion worker. */
export const deletionWorkerConfig = z
  .object({
    ...serviceConfig.shape,
    ...queueBoardConfig.shape,
    ...variablesOf('QUEUE'),
    ...variablesOf('EVENTS'),
    DELETION_CONCURRENCY: z.coerce
      .number()
      .int()
      .min(1)
      .max(100)
      .default(4)
      .describe('Deletions that one worker runs at once.'),
    QUOTA_TOMBSTONES: quota(10_000, 'Deleted subscriptions that one user may have; the oldest go for good.'),
    QUOTA_DELETION_RECORDS: quota(10_000, 'Deletion records that have ended which one user may have; the oldest go.'),
    EVENTS_MAX_ENTRIES: z.coerce
      .number()
      .int()
      .min(1_000)
      .max(1_000_000_000)
      .default(1_000_000)
      .describe('About how many events the stream keeps, a hundred bytes each; the oldest go, whoever has read them.'),
    EVENTS_REPLICAS: z.coerce
      .number()
      .int()
      .min(0)
      .max(10)
      .default(0)
      .describe("Replicas of the events' Redis that have to have an event before it counts as announced."),
  })
  .describe(
    "Every `REDIS_` variable may be given with the prefix `QUEUE_`, for a Redis of the queue's own, which should persist; " +
      "those without the prefix are the transport's alone then. Without `QUEUE_REDIS_URL`, `QUEUE_REDIS_SENTINELS` and " +
      "`QUEUE_REDIS_CLUSTER` the queue is on the transport's Redis, and a password or certificates for the queue are an error. " +
      'The same holds for the prefix `EVENTS_` and the stream of events.',
  );
export type DeletionWorkerConfig = z.output<typeof deletionWorkerConfig>;

/** How many tombstones and ended deletion records one user may have. */
export type DeletionQuotas = Pick<DeletionWorkerConfig, 'QUOTA_TOMBSTONES' | 'QUOTA_DELETION_RECORDS'>;

/** The quotas, as a token for injection. */
export const QUOTAS = Symbol('quotas');

/**
 * How the Redis of the queue or of the events is reached: by the variables that begin with its name alone, or like the
 * transport's.
 *
 * @throws ConfigurationError when a password or the like is given for it, and no server.
 */
export function redisOf(owner: Owner, config: DeletionWorkerConfig): RedisConfig {
  const names = Object.keys(ownRedis) as (keyof typeof ownRedis)[];
  const own = Object.fromEntries(names.map((name) => [name, config[`${owner}_${name}`]])) as z.output<
    z.ZodObject<typeof ownRedis>
  >;
  if (own.REDIS_URL ?? own.REDIS_SENTINELS ?? own.REDIS_CLUSTER)
    return { ...own, REDIS_URL: own.REDIS_URL ?? redis.REDIS_URL.parse(undefined) };
  const useless = own.REDIS_USERNAME ?? own.REDIS_PASSWORD ?? own.REDIS_SENTINEL_PASSWORD ?? own.REDIS_TLS_CA;
  if (useless !== undefined || own.REDIS_TLS)
    throw new ConfigurationError([`${owner}_REDIS_URL: is missing, as other ${owner}_REDIS_ variables are set`]);
  return config;
}
