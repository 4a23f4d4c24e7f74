import type { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { eventually } from '#testing';
import { connectRedis, redisConfig } from './redis-connection.js';

const rejections: unknown[] = [];
const onRejection = (error: unknown) => rejections.push(error);
let redis: Redis;

beforeEach(() => {
  rejections.length = 0;
  process.prependListener('unhandledRejection', onRejection);
  redis = connectRedis(redisConfig.parse({ REDIS_URL: inject('servers').redisUrl })) as Redis;
});
afterEach(() => {
  process.off('unhandledRejection', onRejection);
  redis.disconnect();
});

it('a subscriber that loses its connection twice leaves no unhandled rejection', async () => {
  await eventually(() => expect(redis.status).toBe('ready'));
  await redis.subscribe('a channel');
  let losses = 0;
  // Imitates a restarting Redis: it accepts the connection and drops it.
  redis.on('ready', () => {
    if (losses < 3) redis.stream.destroy();
    losses += 1;
  });
  redis.stream.destroy();
  await eventually(() => expect(losses).toBe(4));
  expect(rejections).toEqual([]);
});
