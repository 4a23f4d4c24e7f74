import { describe, expect, it } from 'vitest';
import { redisConfig } from '#redis';
import { ConfigurationError, loadConfig } from '#runtime';
import { deletionWorkerConfig, redisOf } from './deletion-worker.config.js';

function queueOf(environment: Record<string, string>) {
  return redisOf(
    'QUEUE',
    deletionWorkerConfig.parse({ DATABASE_URL: 'postgres://db', ...environment }),
  );
}

describe("the queue's Redis", () => {
  it("is the transport's by default, with all of its variables", () => {
    expect(queueOf({ REDIS_CLUSTER: 'a:1', REDIS_PASSWORD: 'p', REDIS_TLS: 'true' })).toMatchObject(
      {
        REDIS_CLUSTER: [{ host: 'a', port: 1 }],
        REDIS_PASSWORD: 'p',
        REDIS_TLS: true,
      },
    );
  });

  it.each([
    [{ QUEUE_REDIS_URL: 'redis://q' }, { REDIS_URL: 'redis://q' }],
    [
      { QUEUE_REDIS_SENTINELS: 'q:1' },
      { REDIS_SENTINELS: [{ host: 'q', port: 1 }], REDIS_SENTINEL_MASTER: 'mymaster' },
    ],
    [{ QUEUE_REDIS_CLUSTER: 'q:1' }, { REDIS_CLUSTER: [{ host: 'q', port: 1 }] }],
  ])('uses %j only, and no variables of the transport', (own, expected) => {
    const queue = queueOf({
      REDIS_SENTINELS: 'a:1',
      REDIS_PASSWORD: 'secret',
      REDIS_TLS: 'true',
      ...own,
    });
    expect(queue).toMatchObject(expected);
    expect(JSON.stringify(queue)).not.toContain('secret');
    expect(queue.REDIS_TLS).toBe(false);
  });

  it('has its own password and certificates', () => {
    const own = { QUEUE_REDIS_PASSWORD: 'q', QUEUE_REDIS_TLS: 'true', QUEUE_REDIS_TLS_CA: 'PEM' };
    expect(queueOf({ QUEUE_REDIS_CLUSTER: 'q:1', ...own })).toMatchObject({
      REDIS_PASSWORD: 'q',
      REDIS_TLS: true,
      REDIS_TLS_CA: 'PEM',
    });
  });

  it.each(Object.keys(redisConfig.shape))('reads %s with the prefix QUEUE_', (name) => {
    const sample: Record<string, string> = { REDIS_URL: 'rediss://q', REDIS_TLS: 'true' };
    const value = sample[name] ?? 'q:1';
    const server: Record<string, string> = { QUEUE_REDIS_URL: 'redis://queue' };
    const queue = queueOf({ ...server, [`QUEUE_${name}`]: value });
    expect(queue).toEqual(redisConfig.parse({ REDIS_URL: 'redis://queue', [name]: value }));
  });

  it('reports all invalid variables together under their own names', () => {
    const refused = () =>
      loadConfig(deletionWorkerConfig, {
        DATABASE_URL: 'postgres://db',
        REDIS_TLS: 'perhaps',
        QUEUE_REDIS_URL: 'http://q',
        QUEUE_REDIS_CLUSTER: 'q',
        QUEUE_REDIS_PASSWORD_FILE: '/does/not/exist',
      });
    for (const name of [
      'REDIS_TLS',
      'QUEUE_REDIS_URL',
      'QUEUE_REDIS_CLUSTER',
      'QUEUE_REDIS_PASSWORD_FILE',
    ])
      expect(refused).toThrow(new RegExp(`^  ${name}: `, 'm'));
  });

  it('is rejected with a password only', () => {
    expect(() => queueOf({ QUEUE_REDIS_PASSWORD: 'q' })).toThrow(ConfigurationError);
  });
});

it("the Redis of events has its own variables, and is the transport's by default", () => {
  const config = (environment: Record<string, string>) =>
    redisOf(
      'EVENTS',
      deletionWorkerConfig.parse({ DATABASE_URL: 'postgres://db', ...environment }),
    );
  expect(config({ REDIS_URL: 'redis://r', QUEUE_REDIS_URL: 'redis://q' }).REDIS_URL).toBe(
    'redis://r',
  );
  const own = { EVENTS_REDIS_URL: 'redis://e', EVENTS_REDIS_PASSWORD: 'p' };
  expect(config({ REDIS_USERNAME: 'transport', ...own })).toEqual(
    redisConfig.parse({ REDIS_URL: 'redis://e', REDIS_PASSWORD: 'p' }),
  );
  expect(() => config({ EVENTS_REDIS_PASSWORD: 'p' })).toThrow('EVENTS_REDIS_URL: is missing');
});
