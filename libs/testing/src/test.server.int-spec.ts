import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedisServer, type TestServer } from './test.server.js';

let server: TestServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer({ durable: true });
  redis = new Redis(server.url, { retryStrategy: () => 20 });
  redis.on('error', () => {});
});
afterAll(async () => {
  redis.disconnect();
  await server.dispose();
});

describe('TestServer', () => {
  it('restarts after a crash at the same address, with its data', async () => {
    await redis.set('kept', '7');
    await server.kill();
    await server.start();
    expect(await redis.get('kept')).toBe('7');
  });

  it('answers nothing while it is paused, and everything after', async () => {
    const impatient = new Redis(server.url, { commandTimeout: 100 });
    await impatient.ping();
    server.pause();
    await expect(impatient.get('kept')).rejects.toThrow(/timed out/);
    server.resume();
    expect(await redis.get('kept')).toBe('7');
    impatient.disconnect();
  });
});
