import { pino } from 'pino';
import { expect, inject, it } from 'vitest';
import { connectRedis, redisConfig } from '#runtime';
import { eventually } from '#testing';
import { QueueConnections } from './queue.connections.js';

it('a password that the queue refuses is an error for an operator, told once and without the password', async () => {
  const { host } = new URL(inject('servers').redisUrl);
  const config = redisConfig.parse({ REDIS_URL: `redis://:not-the-password@${host}` });
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const connections = new QueueConnections((overrides) => connectRedis(config, overrides), log);
  // Each attempt to connect is a line for who debugs.
  await eventually(() => expect(logged.filter(({ level }) => level === 20).length).toBeGreaterThan(6));
  const errors = logged.filter(({ level }) => level === 50);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ reason: expect.stringContaining('WRONGPASS') as string });
  expect(JSON.stringify(logged)).not.toContain('not-the-password');
  await connections.onApplicationShutdown();
});
