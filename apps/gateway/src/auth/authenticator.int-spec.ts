import { randomUUID } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Revocations, RevocationWriter } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { ConfigurationError, createLog } from '#runtime';
import { AuthenticationFailure } from '#http';
import { eventually } from '#testing';
import type { Redis } from 'ioredis';
import type { JWK, JWTPayload } from 'jose';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import { KeyProvider, keySet, newKey, sign, type SigningKey } from '../../testing/key-provider.js';
import { gatewayConfig } from '../gateway.config.js';
import { Authenticator, type CredentialSources } from './authenticator.js';

const [first, second] = ['https://id.example', 'https://other.example'];
let directory: string;
let provider: KeyProvider;
let [one, two]: SigningKey[] = [];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'authenticator-'));
  provider = await KeyProvider.start();
  [one, two] = [await newKey('one'), await newKey('two')];
});
afterAll(async () => {
  await provider.stop();
  rmSync(directory, { recursive: true });
});

/** Replaces the file atomically, like Kubernetes secrets. */
function writeKeys(name: string, ...keys: JWK[]): string {
  const file = join(directory, name);
  writeFileSync(`${file}.new`, JSON.stringify(keySet(...keys)));
  renameSync(`${file}.new`, file);
  return file;
}

function authenticator(
  variables: Record<string, string>,
  credentials: CredentialSources = {},
): Authenticator {
  const config = gatewayConfig.parse({
    AUTH_AUDIENCE: 'podcast-sync',
    ...variables,
  });
  return new Authenticator(config, createLog('test', 'silent'), credentials);
}

let auth: Authenticator;
beforeEach(() => {
  const files = [
    `${first}=${writeKeys('one', one as JWK)}`,
    `${second}=${writeKeys('two', two as JWK)}`,
  ].join(',');
  auth = authenticator({ AUTH_ISSUER: `${first},${second}`, AUTH_JWKS_FILE: files });
});

const read = (token: string, by = auth) =>
  by.authenticate(`Bearer ${token}`, 'read:subscriptions', '192.0.2.1');
const token = (claims: JWTPayload = {}, header = {}, key = one) =>
  sign(key as SigningKey, { iss: first, ...claims }, header);
/** Returns the reason of a rejection. */
async function reason(refused: Promise<unknown>): Promise<string> {
  const error = await refused.catch((caught: unknown) => caught);
  if (!(error instanceof AuthenticationFailure)) throw new Error(`not refused: ${String(error)}`);
  return error.reason;
}

describe('several issuers', () => {
  it('are trusted with their own keys; a subject is a different user at each', async () => {
    const users = [await read(await token()), await read(await token({ iss: second }, {}, two))];
    expect(new Set(users.map(({ userId }) => userId)).size).toBe(2);
  });

  it('are separate: the key of one does not verify a token of another', async () => {
    expect(await reason(read(await token({ iss: second })))).toBe('key');
    expect(await reason(read(await token({ iss: second }, { kid: 'two' })))).toBe('signature');
  });

  it('publish the public keys of their files', () => {
    expect(auth.keySet()?.keys.map(({ kid, d }) => [kid, d])).toEqual([
      ['one', undefined],
      ['two', undefined],
    ]);
  });

  it('can be an alias: users stay the same when their provider moves', async () => {
    const variables = {
      AUTH_ISSUER: `${first},${second}`,
      AUTH_JWKS_FILE: `${first}=${join(directory, 'one')},${second}=${join(directory, 'two')}`,
    };
    const moved = authenticator({ ...variables, AUTH_ISSUER_ALIASES: `${second}=${first}` });
    const before = await read(await token({ sub: 'ann' }));
    const after = await read(await token({ iss: second, sub: 'ann' }, {}, two), moved);
    expect(after.userId).toBe(before.userId);
    expect((await read(await token({ sub: 'ann' }), moved)).userId).toBe(before.userId);
    const ours = authenticator({
      ...variables,
      AUTH_ISSUER_ALIASES: `${second}=${first}`,
      AUTH_OWN_ISSUER: `urn:a,${first}`,
    });
    const sub = 'ad9fd16d-2a4f-4c3c-8f2c-9a8b7c6d5e4f';
    expect((await read(await token({ iss: second, sub }, {}, two), ours)).userId).toBe(sub);
  });

  it('are discovered without a URL or a file', async () => {
    provider.keys = [two as JWK];
    const discovering = authenticator({ AUTH_ISSUER: provider.url });
    const caller = await read(await token({ iss: provider.url }, {}, two), discovering);
    expect(caller.userId).toMatch(/^[\da-f-]{36}$/);
  });
});

it.each<JWTPayload>([
  { scope: 'profile read:subscriptions' },
  { scope: ['profile', 'read:subscriptions'] },
  { scp: 'profile read:subscriptions' },
  { scp: ['profile', 'read:subscriptions'] },
  { scope: 'profile', scp: ['read:subscriptions'] },
])('the scopes are those of %j', async (claims) => {
  const credential = await token(claims);
  await read(credential);
  const write = auth.authenticate(`Bearer ${credential}`, 'write:subscriptions', '192.0.2.1');
  expect(await reason(write)).toBe('scope');
});

describe('an audience', () => {
  it.each([['podcast-sync'], ['https://sync.example'], [['https://sync.example', 'another']]])(
    'can be any of several: %j',
    async (aud) => {
      const variables = { AUTH_ISSUER: first, AUTH_JWKS_FILE: join(directory, 'one') };
      const lists = authenticator({
        ...variables,
        AUTH_AUDIENCE: 'podcast-sync, https://sync.example',
      });
      expect((await read(await token({ aud }), lists)).userId).toMatch(/^[\da-f-]{36}$/);
    },
  );
});

describe('a revoked token', () => {
  let revocations: Revocations;
  let writer: RevocationWriter;
  let connection: Redis;
  let following: Authenticator;
  beforeEach(async () => {
    const config = redisConfig.parse({ REDIS_URL: inject('servers').redisUrl });
    connection = connectRedis(config) as Redis;
    revocations = new Revocations(config, createLog('test', 'silent'));
    await Promise.all([eventually(() => connection.ping()), revocations.waitUntilOpen()]);
    writer = new RevocationWriter(connection, createLog('test', 'silent'));
    following = authenticator(
      { AUTH_ISSUER: first, AUTH_JWKS_FILE: join(directory, 'one') },
      { revocations },
    );
  });
  afterEach(async () => {
    connection.disconnect();
    await revocations.close();
  });

  it.each(['grant', 'session'] as const)(
    'is rejected after a revocation of its %s, even if it was verified before',
    async (kind) => {
      const [gid, other] = [randomUUID(), await token({ gid: randomUUID() })];
      const revoked = await token({ gid });
      await Promise.all([read(revoked, following), read(other, following)]);
      await writer.revoke([{ kind, id: gid }]);
      await eventually(async () => expect(await reason(read(revoked, following))).toBe('revoked'));
      await read(other, following);
    },
  );

  it('is rejected after a revocation of its user; a token issued later is accepted', async () => {
    const [sub, now] = [randomUUID(), Math.floor(Date.now() / 1_000)];
    const { userId } = await read(await token({ sub, iat: now - 60 }), following);
    await writer.revoke([{ kind: 'user', id: userId }]);
    await eventually(async () =>
      expect(await reason(read(await token({ sub, iat: now - 60 }), following))).toBe('revoked'),
    );
    expect((await read(await token({ sub, iat: now + 600 }), following)).userId).toBe(userId);
  });
});

describe('every rejection has its reason', () => {
  const seconds = Math.floor(Date.now() / 1_000);
  it.each<[string, JWTPayload, object?]>([
    ['issuer', { iss: 'https://id.example/' }],
    ['issuer', { iss: undefined }],
    ['audience', { aud: 'another' }],
    ['audience', { aud: undefined }],
    ['audience', { aud: ['another', 'and another'] }],
    ['expired', { exp: seconds - 60 }],
    ['not_yet_valid', { nbf: seconds + 120 }],
    ['claims', { exp: undefined }],
    ['claims', { sub: undefined }],
    ['claims', { sub: '' }],
    ['claims', { sub: 'half a character: \ud800' }],
    ['key', {}, { kid: 'unknown' }],
    ['scope', { scope: 'profile' }],
    ['scope', { scope: '' }],
    ['scope', { scp: '' }],
    ['scope', { scp: [] }],
    ['scope', { scp: 'profile' }],
    ['scope', { scp: null }],
    ['malformed', {}, { crit: ['b64'], b64: false }],
  ])('%s: %j %j', async (expected, claims, header) => {
    expect(await reason(read(await token(claims, header).catch(() => 'a.b.c')))).toBe(expected);
  });

  it('missing and malformed', async () => {
    expect(await reason(auth.authenticate(undefined, 'read:subscriptions', '192.0.2.1'))).toBe(
      'missing',
    );
    for (const sent of ['', 'Bearer', 'Basic YTpi', 'Bearer a b', 'Bearer abc', 'Bearer a.b.c'])
      expect(await reason(auth.authenticate(sent, 'read:subscriptions', '192.0.2.1'))).toBe(
        'malformed',
      );
  });

  it('signature: a changed letter', async () => {
    const [head, claims, signature = ''] = (await token()).split('.');
    const changed = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1);
    expect(await reason(read(`${head}.${claims}.${changed}`))).toBe('signature');
  });

  it.each(['none', 'HS256', 'PS256', 'ES384'])('algorithm: %s', async (alg) => {
    const [, claims, signature] = (await token()).split('.');
    const head = Buffer.from(JSON.stringify({ alg, kid: 'one' })).toString('base64url');
    expect(await reason(read(`${head}.${claims}.${signature}`))).toBe('algorithm');
  });

  it('and tokens within the tolerated difference of the clocks are accepted', async () => {
    await read(await token({ exp: seconds - 10, nbf: seconds - 10 }));
    await read(await token({ nbf: Math.floor(Date.now() / 1_000) + 20 }));
  });
});

it.each(['EdDSA', 'ES256', 'RS256'])('signatures by %s are accepted', async (alg) => {
  const key = await newKey('k', alg);
  const accepting = authenticator({ AUTH_ISSUER: first, AUTH_JWKS_FILE: writeKeys('k', key) });
  await read(await token({}, {}, key), accepting);
});

describe('a verified token', () => {
  it('is verified once for concurrent requests', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify');
    try {
      const credential = await token();
      const callers = await Promise.all(Array.from({ length: 100 }, () => read(credential)));
      expect(new Set(callers.map(({ userId }) => userId)).size).toBe(1);
      await read(credential);
      expect(verify).toHaveBeenCalledTimes(1);
    } finally {
      verify.mockRestore();
    }
  });

  it('is not cached beyond its expiry', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 60;
    const credential = await token({ exp });
    await read(credential);
    vi.useFakeTimers({ now: (exp + 31) * 1_000, toFake: ['Date'] });
    try {
      expect(await reason(read(credential))).toBe('expired');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is rejected once its key is removed from the file; the new key is accepted', async () => {
    const [credential, key] = [await token(), await newKey('new')];
    await read(credential);
    writeKeys('one', key);
    await eventually(async () => expect(await reason(read(credential))).toBe('key'));
    await read(await token({}, {}, key));
  });

  it('stays accepted while the file is invalid', async () => {
    const credential = await token();
    const file = join(directory, 'one');
    for (const content of ['{', '{"keys":[{"kty":"OKP","d":"secret"}]}']) {
      writeFileSync(file, content);
      await read(credential);
    }
  });
});

describe('a key set in a file', () => {
  const startWith = async (kid: string, variables: Record<string, string>) => {
    const file = writeKeys('start', await newKey(kid));
    return authenticator({ AUTH_ISSUER: first, AUTH_JWKS_FILE: file, ...variables });
  };

  it('stops the start with a development key in production, unless allowed', async () => {
    const production = { NODE_ENV: 'production' };
    await expect(startWith('dev-1', production)).rejects.toThrow(ConfigurationError);
    await startWith('dev-1', { ...production, AUTH_DEVELOPMENT_KEYS: 'allow' });
    await startWith('dev-1', {});
    await startWith('own-1', production);
  });

  it('stops the start with a private key', () => {
    const file = join(directory, 'private');
    writeFileSync(file, JSON.stringify({ keys: [one] }));
    expect(() => authenticator({ AUTH_ISSUER: first, AUTH_JWKS_FILE: file })).toThrow(
      /private or symmetric key/,
    );
  });
});
