import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { removeRedis, StartError, startRedis } from './index.js';

let root: string;
let directory: string;
const { programs } = inject('servers');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'embedded-redis-'));
  directory = join(root, 'redis');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await removeRedis(directory);
  rmSync(root, { recursive: true, force: true });
});

async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

describe('startRedis', () => {
  it('finds its data again after a stop, and evicts nothing', async () => {
    const first = await startRedis({ directory, programs });
    expect(await ask(first.url, (redis) => redis.config('GET', 'maxmemory-policy'))).toContain(
      'noeviction',
    );
    await ask(first.url, (redis) => redis.set('kept', '7'));
    await first.stop();
    const second = await startRedis({ directory, programs });
    expect(await ask(second.url, (redis) => redis.get('kept'))).toBe('7');
    await second.stop();
  });

  it('stops an orphan on its directory and starts on the data that it had', async () => {
    const orphan = await startRedis({ directory, programs });
    await ask(orphan.url, (redis) => redis.set('kept', '7'));
    const next = await startRedis({ directory, programs });
    expect(await orphan.exited).toBe('exit code 0');
    expect(await ask(next.url, (redis) => redis.get('kept'))).toBe('7');
    await next.stop();
  });

  it('requires the password, which only this user can read', async () => {
    const server = await startRedis({ directory, programs });
    const unauthenticated = connect(server.port, '127.0.0.1').setEncoding('utf8');
    unauthenticated.write('PING\r\n');
    expect(await new Promise((resolve) => unauthenticated.once('data', resolve))).toMatch(
      /^-NOAUTH/,
    );
    unauthenticated.destroy();
    for (const file of ['password', 'redis.conf'])
      expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    await server.stop();
  });

  it('rejects a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const failure = await startRedis({ directory, programs, port }).catch(
      (error: unknown) => error,
    );
    other.close();
    expect(failure).toBeInstanceOf(StartError);
    expect((failure as StartError).message).toMatch(/in use/);
  });

  it('rejects with installation hints without a Redis', async () => {
    vi.stubEnv('PATH', root);
    const failure = await startRedis({ directory }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartError);
    expect((failure as StartError).message).toMatch(/apt-get install redis-server[^]*REDIS_URL/);
  });
});
