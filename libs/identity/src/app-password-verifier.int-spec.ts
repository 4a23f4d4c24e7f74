import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, Fixture } from '#testing';
import { StreamClient } from '#transport';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openCredentials } from '../testing/credential.service.js';
import { appPasswordHash, makeAppPassword } from './app-password.js';
import {
  type AppPasswordBounds,
  AppPasswordVerifier,
  type VerifiedCredential,
} from './app-password-verifier.js';
import { RateLimited } from './rate-counter.js';
import { RevocationWriter } from './revocations.js';

const log = createLog('test', 'silent');
const bounds: AppPasswordBounds = {
  max: 100,
  ttl: 600_000,
  missing: { max: 100, ttl: 600_000 },
  pending: 40,
  uncached: 30,
  uncachedPerNetwork: 20,
  failures: 50,
  networks: 100,
};
const [here, there] = ['192.0.2.1', '198.51.100.1'];

const fixture = new Fixture();
let redis: Redis;
let { book, client, revocations } = {} as Awaited<ReturnType<typeof openCredentials>>;
let writer: RevocationWriter;

beforeAll(async () => {
  const { server, ...parts } = await openCredentials(fixture);
  ({ book, client, revocations } = parts);
  redis = connectRedis(redisConfig.parse({ REDIS_URL: server.url })) as Redis;
  fixture.onClose(() => redis.disconnect());
  await eventually(() => redis.ping());
  writer = new RevocationWriter(redis, log);
});
beforeEach(() => {
  book.asked.length = 0;
});
afterEach(() => {
  delete book.wait;
});
afterAll(() => fixture.close());

const passwords = (others: Partial<AppPasswordBounds> = {}) =>
  new AppPasswordVerifier(client, revocations, { ...bounds, ...others });

/** Creates an app password that the account service has. */
function known(others: Partial<VerifiedCredential> = {}): {
  hash: string;
  credential: VerifiedCredential;
} {
  const { hash } = makeAppPassword();
  const credential = {
    credentialId: randomUUID(),
    userId: randomUUID(),
    name: 'ann',
    scopes: [],
    ...others,
  };
  book.credentials.set(hash, credential);
  return { hash, credential };
}
const unknown = () => makeAppPassword().hash;

describe('an app password', () => {
  it('belongs to the user of the account service, with one lookup by hash', async () => {
    const [checked, { hash, credential }] = [passwords(), known()];
    expect(await checked.check(hash, here)).toEqual(credential);
    expect(await checked.check(hash, there)).toEqual(credential);
    expect(book.asked).toEqual([hash]);
    expect(appPasswordHash(hash)).toBeUndefined();
  });

  it('has one lookup for concurrent requests', async () => {
    const [checked, { hash, credential }] = [passwords(), known()];
    const answers = await Promise.all(Array.from({ length: 100 }, () => checked.check(hash, here)));
    expect(answers).toEqual(Array.from({ length: 100 }, () => credential));
    expect(book.asked).toEqual([hash]);
  });

  it('has another lookup after its ttl', async () => {
    const [checked, { hash }] = [passwords({ ttl: 200 }), known()];
    await eventually(async () => {
      await checked.check(hash, here);
      expect(book.asked.length).toBeGreaterThan(1);
    });
  });

  it('is invalid after its expiry, even if it is cached', async () => {
    const { hash } = known({ expiresAt: new Date(Date.now() - 1).toISOString() });
    expect(await passwords().check(hash, here)).toBeUndefined();
  });

  it('is cached as missing', async () => {
    const [checked, hash] = [passwords(), unknown()];
    expect([await checked.check(hash, here), await checked.check(hash, here)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(book.asked).toEqual([hash]);
  });

  it('has another lookup after the negative ttl', async () => {
    const [checked, hash] = [passwords({ missing: { max: 1, ttl: 1 } }), unknown()];
    await eventually(async () => {
      await checked.check(hash, here);
      expect(book.asked).toEqual([hash, hash]);
    });
  });

  it('is unavailable if the account service does not answer, unless it is cached', async () => {
    const [{ hash: before }, { hash: after }] = [known(), known()];
    const checked = passwords();
    await checked.check(before, here);
    const closed = new StreamClient({ connect: () => redis, log });
    const alone = new AppPasswordVerifier(closed, revocations, bounds);
    await expect(alone.check(after, here)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await checked.check(before, here)).toBeDefined();
  });
});

describe('a revocation', () => {
  it('of an app password ends it at its next check', async () => {
    const [checked, { hash, credential }] = [passwords(), known()];
    await checked.check(hash, here);
    book.credentials.delete(hash);
    await writer.revoke([{ kind: 'credential', id: credential.credentialId }]);
    await eventually(async () => expect(await checked.check(hash, here)).toBeUndefined());
  });

  it('of a user repeats lookups of all app passwords, and accepts remaining ones', async () => {
    const userId = randomUUID();
    const [checked, gone, left] = [passwords(), known({ userId }), known({ userId })];
    await Promise.all([gone, left].map(({ hash }) => checked.check(hash, here)));
    book.credentials.delete(gone.hash);
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(async () => expect(await checked.check(gone.hash, here)).toBeUndefined());
    expect(await checked.check(left.hash, here)).toEqual(left.credential);
  });

  it('during a lookup takes precedence over the answer', async () => {
    const [checked, { hash, credential }] = [passwords(), known()];
    let answer!: (value?: unknown) => void;
    book.wait = new Promise((resolve) => (answer = resolve));
    const under = checked.check(hash, here);
    await eventually(() => expect(book.asked).toEqual([hash]));
    book.credentials.delete(hash);
    await writer.revoke([{ kind: 'credential', id: credential.credentialId }]);
    await eventually(() =>
      expect(revocations.isRevoked({ userId: '', credentialId: credential.credentialId })).toBe(
        true,
      ),
    );
    answer();
    expect(await under).toBeUndefined();
  });
});

describe('a client with many uncached app passwords', () => {
  /** Returns the number of checks by outcome: `none`, `wait`, or the code of a failure. */
  async function outcomes(checked: AppPasswordVerifier, count: number, address: string) {
    const counts: Record<string, number> = {};
    const tries = Array.from({ length: count }, () =>
      checked.check(unknown(), address).then(
        () => 'none',
        (error: unknown) =>
          error instanceof RateLimited ? 'wait' : (error as { code: string }).code,
      ),
    );
    for (const outcome of await Promise.all(tries)) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  }

  it('has a limited number of concurrent lookups, per network and in total', async () => {
    const checked = passwords();
    expect(await outcomes(checked, 100, here)).toEqual({ none: 20, unavailable: 80 });
    expect(book.asked).toHaveLength(20);
    const [first, second] = await Promise.all([
      outcomes(checked, 100, here),
      outcomes(checked, 100, there),
    ]);
    expect([first, second]).toEqual([
      { none: 20, unavailable: 80 },
      { none: 10, unavailable: 90 },
    ]);
  });

  it('is limited per minute without further lookups; other networks are not', async () => {
    const checked = passwords({ uncachedPerNetwork: 1 });
    for (let count = 0; count < 50; count++) await checked.check(unknown(), here);
    expect(await outcomes(checked, 100, here)).toEqual({ wait: 100 });
    expect(book.asked).toHaveLength(50);
    expect(await outcomes(checked, 1, there)).toEqual({ none: 1 });
    expect(await outcomes(checked, 1, `2001:db8::1`)).toEqual({ none: 1 });
  });

  it('does not reject app passwords that were cached before', async () => {
    const [checked, { hash, credential }] = [passwords({ uncachedPerNetwork: 1 }), known()];
    await checked.check(hash, here);
    for (let count = 0; count < 50; count++) await checked.check(unknown(), here);
    expect(await outcomes(checked, 1, here)).toEqual({ wait: 1 });
    // Forces a new lookup: the cached credential is no longer valid.
    await writer.revoke([{ kind: 'user', id: credential.userId }]);
    await eventually(() =>
      expect(revocations.isRevoked({ userId: credential.userId, issuedAt: 0 })).toBe(true),
    );
    expect(await checked.check(hash, here)).toEqual(credential);
    expect(book.asked.filter((asked) => asked === hash)).toHaveLength(2);
  });

  it('uses limited memory for any number of app passwords and networks', async () => {
    const checked = passwords({ max: 3, missing: { max: 5, ttl: 600_000 }, networks: 4 });
    for (let count = 0; count < 20; count++) await checked.check(unknown(), `192.0.2.${count}`);
    for (let count = 0; count < 20; count++) await checked.check(known().hash, here);
    expect(checked.size).toEqual({ found: 3, missing: 5, networks: 4 });
  });

  it('evicts the least recently used entry, and no valid app password', async () => {
    const [checked, first, second] = [
      passwords({ max: 2, missing: { max: 2, ttl: 600_000 } }),
      known(),
      known(),
    ];
    for (const { hash } of [first, second, first]) await checked.check(hash, here);
    for (let count = 0; count < 10; count++) await checked.check(unknown(), here);
    await checked.check(known().hash, here);
    book.asked.length = 0;
    await checked.check(first.hash, here);
    expect(book.asked).toEqual([]);
    await checked.check(second.hash, here);
    expect(book.asked).toEqual([second.hash]);
  });
});
