import { Cluster, Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '#runtime';
import { connectRedis, reconnectDelay, redisConfig, redisOutage } from './redis-connection.js';

function connect(environment: Record<string, string>) {
  return connectRedis(redisConfig.parse(environment), { lazyConnect: true });
}

describe('connectRedis', () => {
  it('reads server, user, password and database from the URL', () => {
    const { options } = connect({ REDIS_URL: 'redis://me:secret@cache.example:6380/2' }) as Redis;
    expect(options).toMatchObject({
      host: 'cache.example',
      port: 6380,
      username: 'me',
      password: 'secret',
      db: 2,
    });
    expect(options.tls).toBeUndefined();
  });

  it('reads the password from its own variable', () => {
    const { options } = connect({
      REDIS_URL: 'redis://cache.example',
      REDIS_PASSWORD: 'secret',
    }) as Redis;
    expect(options).toMatchObject({ host: 'cache.example', port: 6379, password: 'secret' });
  });

  it('speaks TLS to rediss, with a given authority', () => {
    const { options } = connect({
      REDIS_URL: 'rediss://cache.example',
      REDIS_TLS_CA: 'PEM',
    }) as Redis;
    expect(options.tls).toEqual({ ca: 'PEM' });
  });

  it('never queues or resends, and rejects commands of a lost connection immediately', () => {
    const { options } = connect({}) as Redis;
    expect(options).toMatchObject({
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    });
  });

  it('finds the server through Sentinels', () => {
    const redis = connect({
      REDIS_SENTINELS: 'a:1, [::1]:2',
      REDIS_SENTINEL_MASTER: 'main',
      REDIS_PASSWORD: 'p',
    }) as Redis;
    expect(redis.options).toMatchObject({
      sentinels: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
      ],
      name: 'main',
      password: 'p',
      enableOfflineQueue: false,
    });
  });

  it('connects to a Cluster', () => {
    const redis = connect({ REDIS_CLUSTER: 'a:1,b:2', REDIS_PASSWORD: 'p', REDIS_TLS: 'true' });
    expect(redis).toBeInstanceOf(Cluster);
    expect(redis.options).toMatchObject({
      enableOfflineQueue: false,
      redisOptions: { password: 'p', tls: {} },
    });
  });

  it('refuses Sentinels and Cluster together', () => {
    expect(() => connect({ REDIS_CLUSTER: 'a:1', REDIS_SENTINELS: 'a:1' })).toThrow(
      ConfigurationError,
    );
  });
});

describe('redisConfig', () => {
  it.each([
    { REDIS_URL: 'http://x' },
    { REDIS_CLUSTER: 'a' },
    { REDIS_SENTINELS: 'a:1,,b:2' },
    { REDIS_TLS: 'perhaps' },
  ])('refuses %j', (environment) => {
    expect(redisConfig.safeParse(environment).success).toBe(false);
  });
});

describe('reconnectDelay', () => {
  it('is short at first and at most about a second', () => {
    expect(reconnectDelay(1)).toBeLessThan(100);
    for (const attempt of [5, 50, 5_000]) {
      expect(reconnectDelay(attempt)).toBeGreaterThanOrEqual(500);
      expect(reconnectDelay(attempt)).toBeLessThanOrEqual(1_250);
    }
  });
});

describe('redisOutage', () => {
  it.each([
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest"',
    "Stream isn't writeable and enableOfflineQueue options is false",
    'Connection is closed.',
    'Command aborted due to connection close',
    'Command timed out',
  ])('is Redis for a command without a connection: %s', (message) =>
    expect(redisOutage(new Error(message))).toBe('Redis'),
  );

  it('is Redis for an unreachable server, and nothing for an answer of Redis or a bug', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(redisOutage(refused)).toBe('Redis');
    const full = "OOM command not allowed when used memory > 'maxmemory'.";
    expect([new Error(full), new TypeError('x is not a function')].map(redisOutage)).toEqual([
      undefined,
      undefined,
    ]);
  });
});
