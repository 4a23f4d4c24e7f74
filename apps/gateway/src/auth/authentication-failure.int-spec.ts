import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAppPassword, RevocationWriter } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, Fixture, type ServedApp, type TestServer, TokenIssuer } from '#testing';
import type { Redis } from 'ioredis';
import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCredentialService } from '../../../../libs/identity/testing/credential.service.js';
import { startGateway } from '../../testing/gateway-app.js';
import { keySet, newKey, sign } from '../../testing/key-provider.js';
import type { FailureReason } from './authenticator.js';

let keys: string;
let redis: TestServer;
let connection: Redis;
let accounts: Awaited<ReturnType<typeof startCredentialService>>;
const fixture = new Fixture();
beforeAll(async () => {
  keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
  fixture.onClose(() => rmSync(keys, { recursive: true }));
  redis = await fixture.redis();
  connection = connectRedis(redisConfig.parse({ REDIS_URL: redis.url })) as Redis;
  fixture.onClose(() => connection.disconnect());
  accounts = await startCredentialService(redis.url);
  fixture.onClose(() => accounts.app.close());
});
afterAll(() => fixture.close());

function gateway(
  keySetFile: string,
  variables: Record<string, string> = {},
  options?: Parameters<typeof startGateway>[2],
): Promise<ServedApp> {
  const needed = {
    PORT: '0',
    REDIS_URL: redis.url,
    AUTH_APP_PASSWORDS: 'on',
    AUTH_JWKS_FILE: keySetFile,
    AUTH_ISSUER: TokenIssuer.issuer,
    AUTH_AUDIENCE: TokenIssuer.audience,
  };
  return startGateway(fixture, { ...needed, ...variables }, options);
}

/** Requests a missing path. A 404 means that the credential was accepted. */
const ask = ({ url }: Pick<ServedApp, 'url'>, authorization?: string, method = 'GET') =>
  fetch(`${url}/nothing`, {
    method,
    headers: authorization ? { authorization } : {},
  });

/** Returns a rejected credential for each reason. */
async function refusedCredentials(
  keySetFile: string,
): Promise<Record<FailureReason, string | undefined>> {
  const [key, unknownKey] = [await newKey('ours'), await newKey('unknown')];
  writeFileSync(keySetFile, JSON.stringify(keySet(key)));
  const bearer = async (claims: JWTPayload, header = {}, by = key) =>
    `Bearer ${await sign(by, { iss: TokenIssuer.issuer, ...claims }, header)}`;
  const now = Math.floor(Date.now() / 1_000);
  return {
    missing: undefined,
    malformed: 'Bearer abc',
    issuer: await bearer({ iss: 'https://another.example' }),
    algorithm: await bearer({}, {}, await newKey('ours', 'PS256')),
    key: await bearer({}, {}, unknownKey),
    signature: await bearer({}, { kid: 'ours' }, unknownKey),
    audience: await bearer({ aud: 'another' }),
    expired: await bearer({ exp: now - 60 }),
    not_yet_valid: await bearer({ nbf: now + 3_600 }),
    claims: await bearer({ exp: undefined }),
    scope: await bearer({ scope: 'profile' }),
    app_password: `Bearer ${makeAppPassword().secret}`,
    revoked: await bearer({ gid: 'a-grant-that-ended' }),
  };
}

/** Challenges that differ from that of an invalid token. */
const wrong: Record<string, string> = {
  missing: '',
  scope: ', error="insufficient_scope", scope="read:subscriptions"',
};

it('every rejection is the same 401; log and metric have the reason, not the token', async () => {
  const file = join(keys, 'rejected.json');
  const credentials = await refusedCredentials(file);
  await new RevocationWriter(connection, createLog('test', 'silent')).revoke([
    { kind: 'grant', id: 'a-grant-that-ended' },
  ]);
  let log = '';
  const destination = { write: (line: string) => void (log += line) };
  const at = await gateway(file, {}, { log: createLog('gateway', 'debug', destination) });
  const metadata = `resource_metadata="${at.url}/.well-known/oauth-protected-resource"`;
  const answers = new Set<string>();
  for (const [reason, authorization] of Object.entries(credentials)) {
    const answer = await ask(at, authorization);
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { code: '401', message: 'User not authorized' },
    ]);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer ${metadata}${wrong[reason] ?? ', error="invalid_token"'}`,
    );
    const differs = new Set(['date', 'x-request-id', 'www-authenticate']);
    answers.add(JSON.stringify([...answer.headers].filter(([name]) => !differs.has(name))));
  }
  expect([...answers]).toHaveLength(1);

  const metrics = await at.metrics('podcast_sync_refused_credentials_total');
  const counted = [...metrics.join('\n').matchAll(/\{reason="(\w+)"\} 1$/gm)];
  const reasons = Object.keys(credentials).sort();
  expect(counted.map(([, reason]) => reason).sort()).toEqual(reasons);
  const logged = () => [
    ...log.matchAll(/"reason":"(\w+)".*"request rejected: credential missing or not accepted"/g),
  ];
  await eventually(() =>
    expect(
      logged()
        .map(([, reason]) => reason)
        .sort(),
    ).toEqual(reasons),
  );
  const claims = Object.values(credentials).flatMap(
    (authorization) => authorization?.split('.')[1] ?? [],
  );
  for (const secret of [...claims, 'pst_']) expect(log).not.toContain(secret);
});

it('an app password has its own scopes and is rejected once it is revoked', async () => {
  const file = join(keys, 'app-passwords.json');
  writeFileSync(file, JSON.stringify(keySet(await newKey('ours'))));
  const replicas = [await gateway(file), await gateway(file)];
  const { secret, hash } = makeAppPassword();
  const [credentialId, userId] = [randomUUID(), randomUUID()];
  accounts.book.credentials.set(hash, {
    credentialId,
    userId,
    name: 'ann',
    scopes: ['read:subscriptions'],
  });
  const statuses = async (method = 'GET') =>
    Promise.all(replicas.map(async (at) => (await ask(at, `Bearer ${secret}`, method)).status));
  expect(await statuses()).toEqual([404, 404]);
  expect(await statuses('POST')).toEqual([401, 401]);
  accounts.book.credentials.delete(hash);
  await new RevocationWriter(connection, createLog('test', 'silent')).revoke([
    { kind: 'credential', id: credentialId },
  ]);
  await eventually(async () => expect(await statuses()).toEqual([401, 401]));
});

it('AUTH_APP_PASSWORDS=off rejects app passwords without a lookup', async () => {
  const file = join(keys, 'bare.json');
  writeFileSync(file, JSON.stringify(keySet(await newKey('ours'))));
  const at = await gateway(file, { AUTH_APP_PASSWORDS: 'off' });
  accounts.book.asked.length = 0;
  expect((await ask(at, `Bearer ${makeAppPassword().secret}`)).status).toBe(401);
  expect(accounts.book.asked).toEqual([]);
});

it('without the account service only app passwords are unavailable', async () => {
  const issuer = await TokenIssuer.open(join(keys, 'alone'));
  const alone = await fixture.redis();
  const at = await gateway(issuer.keySetFile, { REDIS_URL: alone.url });
  const answer = await ask(at, `Bearer ${makeAppPassword().secret}`);
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
  expect((await ask(at, `Bearer ${await issuer.issue('ann')}`)).status).toBe(404);
});
