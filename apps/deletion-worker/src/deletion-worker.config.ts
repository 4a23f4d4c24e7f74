import { quotaVariable } from '#database';
import { redisConfig, type RedisConfig } from '#redis';
import { ConfigurationError, integer } from '#runtime';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue/queue-board.js';

const redisVariables = redisConfig.shape;

/** Schemas of the variables of a separate Redis. Its URL has no default, unlike `REDIS_URL`. */
const redisSchemas = {
  ...redisVariables,
  REDIS_URL: redisVariables.REDIS_URL.unwrap().optional(),
};

/** Prefixes of the variables of a separate Redis: for the deletion queue, and the event stream. */
type RedisPrefix = 'QUEUE' | 'EVENTS';

/** Returns {@link redisSchemas} by prefixed names, such as `QUEUE_REDIS_URL`. */
function prefixVariables<Prefix extends RedisPrefix>(prefix: Prefix) {
  const prefixedVariables = Object.entries(redisSchemas).map(([name, variable]) => [
    `${prefix}_${name}`,
    variable,
  ]);
  return Object.fromEntries(prefixedVariables) as {
    [Name in keyof typeof redisSchemas as `${Prefix}_${Name}`]: (typeof redisSchemas)[Name];
  };
}

export const deletionWorkerConfig = z
  .object({
    ...serviceConfig.shape,
    ...queueBoardConfig.shape,
    ...prefixVariables('QUEUE'),
    ...prefixVariables('EVENTS'),
    DELETION_CONCURRENCY: integer(1, 100)
      .default(4)
      .describe('Maximum number of deletions and erasures that one worker runs concurrently.'),
    QUOTA_TOMBSTONES: quotaVariable(
      10_000,
      'Maximum number of tombstones per user; the oldest are removed permanently.',
    ),
    QUOTA_DELETION_RECORDS: quotaVariable(
      10_000,
      'Maximum number of final deletion records per user; the oldest are removed.',
    ),
    EVENTS_MAX_ENTRIES: integer(1_000, 1_000_000_000)
      .default(1_000_000)
      .describe(
        'Approximate number of events in the stream, 100 bytes each; the oldest are removed, ' +
          'read or not.',
      ),
    EVENTS_REPLICAS: integer(0, 10)
      .default(0)
      .describe(
        "Replicas of the events' Redis that must store an event before it counts as published.",
      ),
  })
  .describe(
    'Every `REDIS_` variable also exists with the prefix `QUEUE_`, for a separate Redis of the ' +
      'queue, which should persist. The variables without the prefix are then those of the ' +
      'transport only. Without `QUEUE_REDIS_URL`, `QUEUE_REDIS_SENTINELS` and ' +
      "`QUEUE_REDIS_CLUSTER` the queue uses the transport's Redis, and other `QUEUE_REDIS_` " +
      'variables are an error. The prefix `EVENTS_` works the same way for the stream of events.',
  );
export type DeletionWorkerConfig = z.output<typeof deletionWorkerConfig>;

/** Maximum numbers of tombstones and final deletion records per user. */
export type DeletionQuotas = Pick<
  DeletionWorkerConfig,
  'QUOTA_TOMBSTONES' | 'QUOTA_DELETION_RECORDS'
>;

/** Injection token of the quotas. */
export const QUOTAS = Symbol('quotas');

/**
 * Returns the Redis configuration of the queue or the events: the prefixed variables if they name a
 * server (URL, sentinels or cluster), else the variables of the transport.
 *
 * @throws ConfigurationError if prefixed variables are set but none of them names a server.
 */
export function redisOf(prefix: RedisPrefix, config: DeletionWorkerConfig): RedisConfig {
  const variableNames = Object.keys(redisSchemas) as (keyof typeof redisSchemas)[];
  const separateRedis = Object.fromEntries(
    variableNames.map((name) => [name, config[`${prefix}_${name}`]]),
  ) as z.output<z.ZodObject<typeof redisSchemas>>;
  if (separateRedis.REDIS_URL ?? separateRedis.REDIS_SENTINELS ?? separateRedis.REDIS_CLUSTER)
    return {
      ...separateRedis,
      REDIS_URL: separateRedis.REDIS_URL ?? redisVariables.REDIS_URL.parse(undefined),
    };
  const unusedValue =
    separateRedis.REDIS_USERNAME ??
    separateRedis.REDIS_PASSWORD ??
    separateRedis.REDIS_SENTINEL_PASSWORD ??
    separateRedis.REDIS_TLS_CA;
  if (unusedValue !== undefined || separateRedis.REDIS_TLS)
    throw new ConfigurationError([
      `${prefix}_REDIS_URL: is missing, as other ${prefix}_REDIS_ variables are set`,
    ]);
  return config;
}
