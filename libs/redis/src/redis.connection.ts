import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import { ConfigurationError } from '#runtime';

/** `host:port` pairs, separated by commas; an IPv6 host stands in brackets. */
const nodes = z
  .string()
  .transform((list) => list.split(',').map((node) => node.trim()))
  .pipe(z.array(z.string().regex(/^(\[[\da-fA-F:]+\]|[^\s:[\]]+):\d{1,5}$/, 'is a list of host:port')).min(1))
  .transform((list) => list.map(address));

/** How an app reaches Redis: one server, one behind Sentinel, or a Cluster. Part of an app's configuration. */
export const redisConfig = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .default('redis://127.0.0.1:6379')
    .describe('The Redis that carries requests: `redis[s]://[user:password@]host[:port][/db]`; `rediss` is TLS.'),
  REDIS_SENTINELS: nodes
    .optional()
    .describe('Sentinels as `host:port,host:port`. When set, they name the server and `REDIS_URL` is not used.'),
  REDIS_SENTINEL_MASTER: z.string().default('mymaster').describe('Name of the master group that the Sentinels watch.'),
  REDIS_SENTINEL_PASSWORD: z.string().optional().describe('Password of the Sentinels themselves.'),
  REDIS_CLUSTER: nodes
    .optional()
    .describe('Some nodes of a Redis Cluster as `host:port,host:port`. When set, `REDIS_URL` is not used.'),
  REDIS_USERNAME: z.string().optional().describe('User name, unless the URL has one.'),
  REDIS_PASSWORD: z.string().optional().describe('Password, unless the URL has one.'),
  REDIS_TLS: z
    .stringbool()
    .default(false)
    .describe('Speak TLS to Sentinels, Cluster and server; for `REDIS_URL` say `rediss`.'),
  REDIS_TLS_CA: z.string().optional().describe("Certificates (PEM) of the authority that signed the servers' ones."),
});
export type RedisConfig = z.output<typeof redisConfig>;

/**
 * Opens a connection that never gives up and never pretends: it reconnects for ever, and a command that can't be
 * carried out now fails now. Nothing waits in an offline queue, nothing is sent a second time.
 *
 * `overrides` are for connections with another duty, e.g. one that blocks for longer than `socketTimeout`.
 *
 * @throws ConfigurationError when both Sentinels and a Cluster are configured.
 */
export function connectRedis(config: RedisConfig, overrides: Partial<RedisOptions> = {}): Redis | Cluster {
  const options = { ...connectionOptions(config), ...overrides };
  if (config.REDIS_CLUSTER && config.REDIS_SENTINELS)
    throw new ConfigurationError(['REDIS_CLUSTER: set either REDIS_CLUSTER or REDIS_SENTINELS, not both']);
  if (config.REDIS_CLUSTER) return cluster(config.REDIS_CLUSTER, options);
  if (config.REDIS_SENTINELS) return guarded(behindSentinels(config, config.REDIS_SENTINELS, options));
  return guarded(new Redis(config.REDIS_URL, options));
}

/** How long to wait before the next attempt to connect: soon at first, at most about a second, no two apps in step. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), 1_000) * (0.75 + Math.random() / 2);
}

/**
 * Whether an error of a connection says that Redis lets nobody in, or that its certificate is not trusted: trying again
 * does not help before somebody has changed a password or a certificate.
 */
export function isAccessDenied({ message, code }: Error & { code?: string }): boolean {
  return /\b(WRONGPASS|NOAUTH|NOPERM|invalid password)\b/.test(message) || /CERT|^UNABLE_TO_/.test(code ?? '');
}

function connectionOptions(config: RedisConfig): RedisOptions {
  const encrypted = config.REDIS_TLS || config.REDIS_URL.startsWith('rediss:');
  return {
    username: config.REDIS_USERNAME,
    password: config.REDIS_PASSWORD,
    ...(encrypted && { tls: config.REDIS_TLS_CA ? { ca: config.REDIS_TLS_CA } : {} }),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Whoever subscribes has to subscribe again after a loss: ioredis does not catch the rejection of its own attempt,
    // and a connection that is lost once more at that moment would end the process.
    autoResubscribe: false,
    // What was not answered when a connection was lost is rejected at once. With resending off and any other number,
    // ioredis forgets such commands and their promises stay open for ever.
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
    connectTimeout: 2_000,
    // A peer that vanished without closing is noticed by the answer that does not come.
    socketTimeout: 5_000,
    // A master that became a replica refuses writes: connect anew, and reach the new master.
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
    // Else a Cluster sends again what a lost connection has not answered, whatever its nodes are told.
    ...(!options.autoResendUnfulfilledCommands && { retryDelayOnFailover: 0 }),
    slotsRefreshTimeout: 2_000,
    slotsRefreshInterval: 2_000,
    // A certificate names hosts: with TLS a name is not turned into an address before it is compared.
    ...(options.tls && { dnsLookup: (name, done) => done(null, name) }),
  });
  servers.on('+node', guarded);
  return servers;
}

/**
 * Makes a connection's errors harmless. ioredis attaches the command that failed, and with it the password, to what is
 * logged. And a TLS socket may emit a second error after the one that ended it, e.g. the alert of a server whose
 * certificate was not trusted: ioredis listens to the first only, and the second would end the process.
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
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
}
