import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { eventually, startRedisServer, TcpProxy, type TestServer } from '#testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '#runtime';
import { connectRedis, redisConfig } from '#redis';
import { revocationStreams, Revocations, RevocationWriter } from './revocations.js';

const log = createLog('test', 'silent');
let server: TestServer;
let redis: Redis;
let writer: RevocationWriter;
const followers: Revocations[] = [];

const connected = async () => {
  const connection = connectRedis(redisConfig.parse({ REDIS_URL: server.url })) as Redis;
  await eventually(() => expect(connection.status).toBe('ready'));
  return connection;
};

/** Creates a subscriber that has read all retained revocations. */
async function follower(url = server.url): Promise<Revocations> {
  const one = new Revocations(redisConfig.parse({ REDIS_URL: url }), log);
  followers.push(one);
  await one.waitUntilOpen();
  return one;
}

/** Returns the time of Redis in seconds, as in the `iat` of tokens. */
const seconds = async () => Number((await redis.time())[0]);

beforeAll(async () => {
  server = await startRedisServer();
});
beforeEach(async () => {
  redis = await connected();
  await redis.flushall();
  writer = new RevocationWriter(redis, log);
});
afterEach(async () => {
  await Promise.all(followers.splice(0).map((one) => one.close()));
  redis.disconnect();
});
afterAll(() => server.dispose());

describe('a revocation', () => {
  it.each(['grant', 'session', 'gpodder_session'] as const)(
    'of a %s ends its tokens, and no other tokens of its user',
    async (kind) => {
      const [here, userId, gid] = [await follower(), randomUUID(), randomUUID()];
      await writer.revoke([{ kind, id: gid }]);
      await eventually(() => expect(here.isRevoked({ userId, gid, issuedAt: 0 })).toBe(true));
      expect(here.isRevoked({ userId, gid: randomUUID(), issuedAt: 0 })).toBe(false);
      expect(here.isRevoked({ userId, issuedAt: 0 })).toBe(false);
    },
  );

  it('of a user ends the tokens issued so far, and no later tokens', async () => {
    const [here, userId] = [await follower(), randomUUID()];
    const issuedAt = await seconds();
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(() => expect(here.isRevoked({ userId, issuedAt })).toBe(true));
    expect(here.isRevoked({ userId })).toBe(true);
    expect(here.isRevoked({ userId, issuedAt: issuedAt + 600 })).toBe(false);
    expect(here.isRevoked({ userId: randomUUID(), issuedAt })).toBe(false);
  });

  it('of a user rejects app passwords of earlier lookups only', async () => {
    const [here, userId, credentialId] = [await follower(), randomUUID(), randomUUID()];
    const lookedUpAt = performance.now();
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(() => expect(here.isRevoked({ userId, credentialId, lookedUpAt })).toBe(true));
    expect(here.isRevoked({ userId, credentialId, lookedUpAt: performance.now() + 1 })).toBe(false);
  });

  it('of an app password rejects it after any lookup', async () => {
    const [here, userId, credentialId] = [await follower(), randomUUID(), randomUUID()];
    await writer.revoke([{ kind: 'credential', id: credentialId }]);
    const accepted = { userId, credentialId, lookedUpAt: Number.MAX_VALUE };
    await eventually(() => expect(here.isRevoked(accepted)).toBe(true));
    expect(here.isRevoked({ ...accepted, credentialId: randomUUID() })).toBe(false);
  });

  it('reaches all processes, and those that start later read it immediately', async () => {
    const [first, second, userId, gid] = [
      await follower(),
      await follower(),
      randomUUID(),
      randomUUID(),
    ];
    await writer.revoke([{ kind: 'grant', id: gid }]);
    await eventually(() =>
      expect([first, second].every((one) => one.isRevoked({ userId, gid }))).toBe(true),
    );
    expect((await follower()).isRevoked({ userId, gid })).toBe(true);
  });

  it('can be published together with any number of others', async () => {
    const here = await follower();
    const ids = Array.from({ length: 1_201 }, () => randomUUID());
    await writer.revoke(ids.map((id) => ({ kind: 'grant', id })));
    await eventually(() =>
      expect(ids.every((gid) => here.isRevoked({ userId: 'ann', gid }))).toBe(true),
    );
    expect((await follower()).size).toBe(1_201);
  });

  it('is stored once if it is repeated', async () => {
    const [here, userId] = [await follower(), randomUUID()];
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(() => expect(here.size).toBe(1));
    await writer.revoke([{ kind: 'user', id: userId }]);
    expect((await follower()).size).toBe(1);
  });

  it('is logged and counted without Redis', async () => {
    redis.disconnect();
    let logged = '';
    const warned = new RevocationWriter(
      redis,
      createLog('test', 'warn', { write: (line) => void (logged += line) }),
    );
    await warned.revoke([{ kind: 'grant', id: 'a' }]);
    expect(logged).toContain('revocation not published to Redis');
    expect(warned.counts).toMatchObject({ unannounced: 1, grant: 0 });
  });
});

describe('a subscriber that lost its connection', () => {
  it('reads the revocations that were published meanwhile', async () => {
    const proxy = await TcpProxy.to(server.url);
    const here = await follower(proxy.url);
    proxy.refuse();
    const gid = randomUUID();
    await writer.revoke([{ kind: 'grant', id: gid }]);
    expect(here.isRevoked({ userId: 'ann', gid })).toBe(false);
    proxy.accept();
    await eventually(() => expect(here.isRevoked({ userId: 'ann', gid })).toBe(true));
    proxy.close();
  });

  it('keeps stored revocations when Redis restarts empty, and receives new ones', async () => {
    const here = await follower();
    const [before, after] = [randomUUID(), randomUUID()];
    await writer.revoke([{ kind: 'grant', id: before }]);
    await eventually(() => expect(here.size).toBe(1));
    await server.kill();
    await server.start();
    redis.disconnect();
    redis = await connected();
    await new RevocationWriter(redis, log).revoke([{ kind: 'grant', id: after }]);
    await eventually(() => expect(here.isRevoked({ userId: 'ann', gid: after })).toBe(true));
    expect(here.isRevoked({ userId: 'ann', gid: before })).toBe(true);
  });

  it('accepts lookups after the first receipt of a revocation that is read again', async () => {
    const proxy = await TcpProxy.to(server.url);
    const [here, userId, marker] = [await follower(proxy.url), randomUUID(), randomUUID()];
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(() => expect(here.size).toBe(1));
    const lookedUpAt = performance.now();
    proxy.cut();
    await writer.revoke([{ kind: 'grant', id: marker }]);
    await eventually(() => expect(here.isRevoked({ userId: '', gid: marker })).toBe(true));
    expect(here.isRevoked({ userId, credentialId: randomUUID(), lookedUpAt })).toBe(false);
    proxy.close();
  });
});

describe('a stream of revocations', () => {
  it('stores revocations for eleven minutes', async () => {
    const old = (await seconds()) * 1_000 - 12 * 60_000;
    await redis.xadd(revocationStreams.tokens, `${old}-0`, 'kind', 'grant', 'id', 'old');
    expect((await follower()).isRevoked({ userId: 'ann', gid: 'old' })).toBe(false);
    await writer.revoke([{ kind: 'grant', id: 'new' }]);
    expect(await redis.xlen(revocationStreams.tokens)).toBe(1);
  });

  it('stores the newest 100,000', async () => {
    await redis.eval(
      `for index = 1, 100000 do redis.call('XADD', KEYS[1], '*', 'kind', 'grant', 'id', index) end`,
      1,
      revocationStreams.tokens,
    );
    await writer.revoke([{ kind: 'grant', id: 'new' }]);
    expect(await redis.xlen(revocationStreams.tokens)).toBe(100_000);
    const here = await follower();
    await eventually(() => expect(here.isRevoked({ userId: 'ann', gid: 'new' })).toBe(true));
    expect(here.isRevoked({ userId: 'ann', gid: '1' })).toBe(false);
    expect(here.size).toBeLessThanOrEqual(100_000);
  });
});

it('revoked app passwords and sessions evict no other revocation', async () => {
  const [gid, userId] = [randomUUID(), randomUUID()];
  await writer.revoke([
    { kind: 'grant', id: gid },
    { kind: 'user', id: userId },
  ]);
  await redis.eval(
    `for index = 1, 100000 do
      redis.call('XADD', KEYS[1], '*', 'kind', 'credential', 'id', index)
    end`,
    1,
    revocationStreams.credentials,
  );
  await writer.revoke([
    { kind: 'gpodder_session', id: 'last' },
    { kind: 'credential', id: 'last' },
  ]);
  const lengths = Object.values(revocationStreams).map((stream) => redis.xlen(stream));
  expect(await Promise.all(lengths)).toEqual([2, 100_000]);
  const here = await follower();
  await eventually(() => expect(here.isRevoked({ userId: '', credentialId: 'last' })).toBe(true), {
    timeout: 90_000,
  });
  expect(here.isRevoked({ userId: '', gid: 'last' })).toBe(true);
  expect(here.isRevoked({ userId: '', gid })).toBe(true);
  expect(here.isRevoked({ userId, issuedAt: 0 })).toBe(true);
  expect(here.size).toBe(100_002);
});

it('a process starts without Redis', async () => {
  const proxy = await TcpProxy.to(server.url);
  proxy.refuse();
  expect((await follower(proxy.url)).isRevoked({ userId: 'ann' })).toBe(false);
  proxy.close();
});
