import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import { ConfigurationError } from '#runtime';

/** Schema of `host:port` pairs, separated by commas; an IPv6 host is in brackets. */
const nodesSchema = z
  .string()
  .transform((list) => list.split(',').map((node) => node.trim()))
  .pipe(
    z
      .array(z.string().regex(/^(\[[\da-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port,…'))
      .min(1),
  )
  .transform((list) => list.map(parseAddress));

/** Configuration of Redis: one server, a server behind Sentinels, or a Cluster. */
export const redisConfig = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .default('redis://127.0.0.1:6379')
    .describe(
      'URL of the Redis for requests: `redis[s]://[user:password@]host[:port][/db]`; ' +
        '`rediss` is TLS.',
    ),
  REDIS_SENTINELS: nodesSchema
    .optional()
    .describe(
      'Sentinels as `host:port,host:port`. When set, the server is the master that they report, ' +
        'and the address in `REDIS_URL` is not used.',
    ),
  REDIS_SENTINEL_MASTER: z
    .string()
    .default('mymaster')
    .describe('Name of the master group that the Sentinels watch.'),
  REDIS_SENTINEL_PASSWORD: z.string().optional().describe('Password of the Sentinels themselves.'),
  REDIS_CLUSTER: nodesSchema
    .optional()
    .describe(
      'Some nodes of a Redis Cluster as `host:port,host:port`. When set, `REDIS_URL` is not used.',
    ),
  REDIS_USERNAME: z.string().optional().describe('User name, unless the URL has one.'),
  REDIS_PASSWORD: z.string().optional().describe('Password, unless the URL has one.'),
  REDIS_TLS: z
    .stringbool()
    .default(false)
    .describe('Use TLS to Sentinels, Cluster and server; for `REDIS_URL` use `rediss`.'),
  REDIS_TLS_CA: z
    .string()
    .optional()
    .describe('Certificates (PEM) of the authority that signed those of the servers.'),
});
export type RedisConfig = z.output<typeof redisConfig>;

/**
 * Opens a connection that reconnects permanently. While it is disconnected, commands fail
 * immediately, because it has no offline queue. It sends no command twice.
 *
 * @param overrides options of ioredis that replace the defaults, e.g. for commands that block for
 *   longer than `socketTimeout`.
 * @throws ConfigurationError if both Sentinels and a Cluster are configured.
 */
export function connectRedis(
  config: RedisConfig,
  overrides: Partial<RedisOptions> = {},
): Redis | Cluster {
  const options = { ...createOptions(config), ...overrides };
  if (config.REDIS_CLUSTER && config.REDIS_SENTINELS)
    throw new ConfigurationError([
      'REDIS_CLUSTER: set either REDIS_CLUSTER or REDIS_SENTINELS, not both',
    ]);
  if (config.REDIS_CLUSTER) return connectToCluster(config.REDIS_CLUSTER, options);
  if (config.REDIS_SENTINELS)
    return guardErrors(connectToSentinels(config, config.REDIS_SENTINELS, options));
  return guardErrors(new Redis(config.REDIS_URL, options));
}

/** Returns the delay before an attempt to reconnect, in ms: random, exponential, at most 1.25 s. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), 1_000) * (0.75 + Math.random() / 2);
}

/** Returns true for an error that an operator must correct: access denied, wrong certificate. */
export function isAccessDenied({ message, code }: Error & { code?: string }): boolean {
  return (
    /\b(WRONGPASS|NOAUTH|NOPERM|invalid password)\b/.test(message) ||
    /CERT|^UNABLE_TO_/.test(code ?? '')
  );
}

/** Messages of ioredis for a command without an answer: connection closed or lost, or timeout. */
const unansweredMessages =
  /max retries per request|enableOfflineQueue|connection (is )?close|Command timed out/i;
/** Error codes of sockets and DNS for a server that cannot be reached. */
const unreachableCodes = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)/;

/**
 * Returns the value of the log field `outage` for a failed command: `Redis` if Redis is
 * disconnected; undefined for other errors, such as a full memory.
 */
export function redisOutage(error: unknown): 'Redis' | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isOutage =
    unreachableCodes.test(String(code ?? '')) || unansweredMessages.test(String(message ?? ''));
  return isOutage ? 'Redis' : undefined;
}

function createOptions(config: RedisConfig): RedisOptions {
  const usesTls = config.REDIS_TLS || config.REDIS_URL.startsWith('rediss:');
  return {
    username: config.REDIS_USERNAME,
    password: config.REDIS_PASSWORD,
    ...(usesTls && { tls: config.REDIS_TLS_CA ? { ca: config.REDIS_TLS_CA } : {} }),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Callers subscribe again after a reconnect. ioredis does not catch the rejection of its own
    // subscription, so a connection that is lost during it would end the process.
    autoResubscribe: false,
    // Rejects unanswered commands of a lost connection immediately. With any other number, and
    // resending off, ioredis drops these commands and never settles their promises.
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
    connectTimeout: 2_000,
    // Detects a server that no longer answers and has not closed the connection.
    socketTimeout: 5_000,
    // Reconnects, to reach the new master, if the server has become a replica and rejects writes.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

function connectToSentinels(
  config: RedisConfig,
  sentinels: Address[],
  options: RedisOptions,
): Redis {
  return new Redis({
    ...options,
    sentinels,
    name: config.REDIS_SENTINEL_MASTER,
    sentinelPassword: config.REDIS_SENTINEL_PASSWORD,
    sentinelRetryStrategy: reconnectDelay,
    sentinelCommandTimeout: 2_000,
    enableTLSForSentinelMode: config.REDIS_TLS,
    sentinelTLS: config.REDIS_TLS ? options.tls : undefined,
    failoverDetector: true,
  });
}

function connectToCluster(startupNodes: Address[], options: RedisOptions): Cluster {
  const { retryStrategy: _, enableOfflineQueue, lazyConnect, ...redisOptions } = options;
  const cluster = new Cluster(startupNodes, {
    enableOfflineQueue,
    lazyConnect,
    redisOptions,
    clusterRetryStrategy: reconnectDelay,
    // 0 disables resending, because a Cluster ignores `autoResendUnfulfilledCommands`.
    ...(!options.autoResendUnfulfilledCommands && { retryDelayOnFailover: 0 }),
    slotsRefreshTimeout: 2_000,
    slotsRefreshInterval: 2_000,
    // Keeps host names unresolved with TLS, because certificates contain names, not addresses.
    ...(options.tls && { dnsLookup: (name, done) => done(null, name) }),
  });
  cluster.on('+node', guardErrors);
  return cluster;
}

/**
 * Removes the command from the errors of a connection, because it can contain the password and
 * errors are logged. Also handles a second error of a TLS socket, such as the alert about a
 * certificate. ioredis handles only the first, and an unhandled error would end the process.
 */
function guardErrors(redis: Redis): Redis {
  return redis.on('error', (error: Error & { command?: unknown }) => {
    delete error.command;
    redis.stream?.on('error', () => {});
  });
}

interface Address {
  host: string;
  port: number;
}

function parseAddress(node: string): Address {
  const colonIndex = node.lastIndexOf(':');
  return {
    host: node.slice(0, colonIndex).replace(/^\[|\]$/g, ''),
    port: Number(node.slice(colonIndex + 1)),
  };
}
