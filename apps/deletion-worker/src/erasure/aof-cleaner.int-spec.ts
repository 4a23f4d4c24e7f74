import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { services } from '#contracts';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, startRedisServer, type TestServer } from '#testing';
import { requestRetentionMs } from '../../../../libs/transport/testing/internals.js';
import { AofCleaner } from './aof-cleaner.js';

const requests = '{rpc:episode}:requests';
let server: TestServer;
let redis: ReturnType<typeof connectRedis>;
let logged: string[];
let cleaner: AofCleaner;

const connect = (url = server.url) => connectRedis(redisConfig.parse({ REDIS_URL: url }));
const cleanerOf = (connection: typeof redis) =>
  new AofCleaner(
    connection,
    createLog('test', 'info', { write: (line) => void logged.push(line) }),
  );
const running = () => false;

beforeAll(async () => {
  server = await startRedisServer({ durable: true, fsyncEachWrite: true });
  redis = connect();
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterAll(async () => {
  redis.disconnect();
  await server.dispose();
});
beforeEach(() => {
  logged = [];
  cleaner = cleanerOf(redis);
});

/** Returns true if a file of Redis contains a text. */
async function isInFiles(text: string): Promise<boolean> {
  const [, directory = ''] = (await redis.config('GET', 'dir')) as string[];
  const found = readdirSync(directory, { recursive: true, withFileTypes: true });
  return found.some(
    (file) =>
      file.isFile() && readFileSync(join(file.parentPath, file.name), 'latin1').includes(text),
  );
}

/** Adds a request with a text. @returns its id. */
const request = async (text: string, id = '*') =>
  String(await redis.xadd(requests, id, 'data', text));

describe('rewriting the append-only files', () => {
  it('removes what was deleted from Redis, also when repeated', async () => {
    await redis.xdel(requests, await request('answered7f3a'));
    expect(await isInFiles('answered7f3a')).toBe(true);
    await cleaner.rewriteAppendOnlyFiles(running);
    expect(await isInFiles('answered7f3a')).toBe(false);
    await cleaner.rewriteAppendOnlyFiles(running);
  });

  it('waits until earlier requests are answered, and not for later ones', async () => {
    const id = await request('waiting7f3a');
    await request('later7f3a', `${Date.now() + 600_000}-0`);
    let checks = 0;
    await cleaner.rewriteAppendOnlyFiles(() => {
      checks += 1;
      if (checks === 1) void redis.xdel(requests, id);
      return false;
    });
    expect(checks).toBeGreaterThan(0);
    expect(await isInFiles('waiting7f3a')).toBe(false);
    // Deletes the stream: otherwise the next request would get an id after that of the later one.
    await redis.del(requests);
  });

  it('runs for several users at the same time', async () => {
    await redis.xdel(requests, await request('several7f3a'));
    await Promise.all(Array.from({ length: 5 }, () => cleaner.rewriteAppendOnlyFiles(running)));
    expect(await isInFiles('several7f3a')).toBe(false);
  });

  it('is unavailable when this worker stops', async () => {
    const id = await request('stopping7f3a');
    await expect(cleaner.rewriteAppendOnlyFiles(() => true)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await redis.xdel(requests, id);
  });

  it('logs once that a server forbids it, and does not fail', async () => {
    await redis.call('ACL', 'SETUSER', 'hosted', 'on', '>word', '~*', '+@all', '-bgrewriteaof');
    const url = Object.assign(new URL(server.url), { username: 'hosted', password: 'word' });
    const hosted = connect(url.href);
    await new Promise((resolve) => hosted.once('ready', resolve));
    const limited = cleanerOf(hosted);
    await limited.rewriteAppendOnlyFiles(running);
    await limited.rewriteAppendOnlyFiles(running);
    hosted.disconnect();
    expect(logged.join('')).toContain('INFO, BGREWRITEAOF and TIME');
    expect(logged).toHaveLength(1);
  });

  it('does nothing for a server without an append-only file', async () => {
    await redis.config('SET', 'appendonly', 'no');
    await cleaner.rewriteAppendOnlyFiles(running);
    await redis.config('SET', 'appendonly', 'yes');
  });

  it('is unavailable while Redis is', async () => {
    await server.kill();
    await expect(cleaner.rewriteAppendOnlyFiles(running)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await server.start();
  });
});

describe('requests without an append-only file', () => {
  // Without the file there is nothing else to wait for.
  beforeAll(() => eventually(() => redis.config('SET', 'appendonly', 'no')));

  it.each([...services, 'feed'])('delay the erasure: %s', async (service) => {
    const stream = `{rpc:${service}}:requests`;
    const id = String(await redis.xadd(stream, '*', 'data', 'unanswered'));
    await expect(cleaner.rewriteAppendOnlyFiles(() => true)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await redis.xdel(stream, id);
    await cleaner.rewriteAppendOnlyFiles(() => true);
  });

  it('are deleted when they have expired, also those of a stopped service', async () => {
    await redis.del(requests);
    await request('expired', `${Date.now() - requestRetentionMs - 1_000}-0`);
    await cleaner.rewriteAppendOnlyFiles(() => true);
    expect(await redis.xlen(requests)).toBe(0);
  });
});
