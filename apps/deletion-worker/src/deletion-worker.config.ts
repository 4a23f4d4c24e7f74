import { quotaVariable } from '#database';
import { redisConfig, type RedisConfig } from '#redis';
import { ConfigurationError, integer } from '#runtime';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue/queue-board.js';

const redisVariables = redisConfig.shape;

/** The `REDIS_` variables, with a URL that has no default. */
const ownRedis = { ...redisVariables, REDIS_URL: redisVariables.REDIS_URL.unwrap().optional() };

/** Parts that can have a separate Redis: the deletion queue and the stream of events. */
type RedisOwner = 'QUEUE' | 'EVENTS';

/** Returns the variables of a separate Redis by their prefixed names, such as `QUEUE_REDIS_URL`. */
function variablesOf<Of extends RedisOwner>(owner: Of) {
  const named = Object.entries(ownRedis).map(([name, variable]) => [`${owner}_${name}`, variable]);
  return Object.fromEntries(named) as {
    [Name in keyof typeof ownRedis as `${Of}_${Name}`]: (typeof ownRedis)[Name];
  };
}

export const deletionWorkerConfig = z
  .object({
    ...serviceConfig.shape,
    ...queueBoardConfig.shape,
    ...variablesOf('QUEUE'),
    ...variablesOf('EVENTS'),
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
export function redisOf(owner: RedisOwner, config: DeletionWorkerConfig): RedisConfig {
  const names = Object.keys(ownRedis) as (keyof typeof ownRedis)[];
  const own = Object.fromEntries(
    names.map((name) => [name, config[`${owner}_${name}`]]),
  ) as z.output<z.ZodObject<typeof ownRedis>>;
  if (own.REDIS_URL ?? own.REDIS_SENTINELS ?? own.REDIS_CLUSTER)
    return { ...own, REDIS_URL: own.REDIS_URL ?? redisVariables.REDIS_URL.parse(undefined) };
  const unused =
    own.REDIS_USERNAME ?? own.REDIS_PASSWORD ?? own.REDIS_SENTINEL_PASSWORD ?? own.REDIS_TLS_CA;
  if (unused !== undefined || own.REDIS_TLS)
    throw new ConfigurationError([
      `${owner}_REDIS_URL: is missing, as other ${owner}_REDIS_ variables are set`,
    ]);
  return config;
}
