import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import { ConfigurationError } from '#runtime';

/** `host:port` pairs, separated by commas; an IPv6 host is in brackets. */
const nodesSchema = z
  .string()
  .transform((list) => list.split(',').map((node) => node.trim()))
  .pipe(
    z
      .array(z.string().regex(/^(\[[\da-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'must be host:port,…'))
      .min(1),
  )
  .transform((list) => list.map(address));

/** Configuration of Redis for every app: one server, a server behind Sentinels, or a Cluster. */
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
 * Opens a connection that reconnects permanently and fails commands immediately while disconnected.
 * It has no offline queue and sends nothing twice.
 *
 * @param overrides options that differ, e.g. for a connection that blocks longer than
 *   `socketTimeout`.
 * @throws ConfigurationError if both Sentinels and a Cluster are configured.
 */
export function connectRedis(
  config: RedisConfig,
  overrides: Partial<RedisOptions> = {},
): Redis | Cluster {
  const options = { ...connectionOptions(config), ...overrides };
  if (config.REDIS_CLUSTER && config.REDIS_SENTINELS)
    throw new ConfigurationError([
      'REDIS_CLUSTER: set either REDIS_CLUSTER or REDIS_SENTINELS, not both',
    ]);
  if (config.REDIS_CLUSTER) return cluster(config.REDIS_CLUSTER, options);
  if (config.REDIS_SENTINELS)
    return guarded(behindSentinels(config, config.REDIS_SENTINELS, options));
  return guarded(new Redis(config.REDIS_URL, options));
}

/** Returns the delay before the next attempt, in ms: exponential to about 1 s, with jitter. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), 1_000) * (0.75 + Math.random() / 2);
}

/** Returns true if only an operator can correct an error: access denied, untrusted certificate. */
export function isAccessDenied({ message, code }: Error & { code?: string }): boolean {
  return (
    /\b(WRONGPASS|NOAUTH|NOPERM|invalid password)\b/.test(message) ||
    /CERT|^UNABLE_TO_/.test(code ?? '')
  );
}

/** Messages of ioredis for commands without an answer: connection closed or lost, or timed out. */
const unansweredCommand =
  /max retries per request|enableOfflineQueue|connection (is )?close|Command timed out/i;
/** Codes of sockets and host names for a server that cannot be reached. */
const unreachableCodes = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)/;

/**
 * Returns `Redis` if a command failed because Redis is disconnected, as value of the log field
 * `outage`; undefined for an error that Redis answered, such as a full memory, and for others.
 */
export function redisOutage(error: unknown): 'Redis' | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isOutage =
    unreachableCodes.test(String(code ?? '')) || unansweredCommand.test(String(message ?? ''));
  return isOutage ? 'Redis' : undefined;
}

function connectionOptions(config: RedisConfig): RedisOptions {
  const encrypted = config.REDIS_TLS || config.REDIS_URL.startsWith('rediss:');
  return {
    username: config.REDIS_USERNAME,
    password: config.REDIS_PASSWORD,
    ...(encrypted && { tls: config.REDIS_TLS_CA ? { ca: config.REDIS_TLS_CA } : {} }),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Our code subscribes again after a loss. ioredis does not catch the rejection of its own
    // subscription, so a second loss during it would end the process.
    autoResubscribe: false,
    // Rejects unanswered commands of a lost connection immediately. If resending is off, any other
    // number makes ioredis drop these commands, and their promises stay pending permanently.
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
    connectTimeout: 2_000,
    // Detects a server that no longer answers and has not closed the connection.
    socketTimeout: 5_000,
    // A master that became a replica refuses writes: reconnect to reach the new master.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

function behindSentinels(config: RedisConfig, sentinels: Address[], options: RedisOptions): Redis {
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

function cluster(startupNodes: Address[], options: RedisOptions): Cluster {
  const { retryStrategy: _, enableOfflineQueue, lazyConnect, ...redisOptions } = options;
  const servers = new Cluster(startupNodes, {
    enableOfflineQueue,
    lazyConnect,
    redisOptions,
    clusterRetryStrategy: reconnectDelay,
    // By default, a Cluster sends unanswered commands again, regardless of its nodes' options.
    ...(!options.autoResendUnfulfilledCommands && { retryDelayOnFailover: 0 }),
    slotsRefreshTimeout: 2_000,
    slotsRefreshInterval: 2_000,
    // Certificates name hosts: with TLS, compare the name and not the resolved address.
    ...(options.tls && { dnsLookup: (name, done) => done(null, name) }),
  });
  servers.on('+node', guarded);
  return servers;
}

/**
 * Makes a connection's errors safe. ioredis attaches the failed command, and with it the password,
 * to the logged error. A TLS socket can emit a second error, e.g. the alert of a server whose
 * certificate is not trusted. ioredis handles the first only, and the second would end the process.
 */
function guarded(redis: Redis): Redis {
  return redis.on('error', (error: Error & { command?: unknown }) => {
    delete error.command;
    redis.stream?.on('error', () => {});
  });
}

interface Address {
  host: string;
  port: number;
}

function address(node: string): Address {
  const colon = node.lastIndexOf(':');
  return {
    host: node.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(node.slice(colon + 1)),
  };
}
