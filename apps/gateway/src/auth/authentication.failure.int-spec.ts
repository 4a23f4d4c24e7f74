import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenIssuer } from '#embedded';
import { AppProcess, eventually } from '#testing';
import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { keySet, newKey, sign } from '../../testing/key.provider.js';
import type { FailureReason } from './authenticator.js';

let keys: string;
const gateways: AppProcess[] = [];
beforeAll(() => {
  keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
});
afterAll(async () => {
  await Promise.all(gateways.map((started) => started.kill()));
  rmSync(keys, { recursive: true });
});

async function gateway(keySetFile: string, variables: Record<string, string> = {}): Promise<AppProcess> {
  const started = await AppProcess.start('gateway', {
    PORT: '0',
    OPS_PORT: '0',
    REDIS_URL: inject('servers').redisUrl,
    AUTH_JWKS_FILE: keySetFile,
    AUTH_ISSUER: TokenIssuer.issuer,
    AUTH_AUDIENCE: TokenIssuer.audience,
    ...variables,
  });
  gateways.push(started);
  return started;
}

/** Asks for a path that does not exist: 404 means that the credential was accepted. */
const ask = (at: AppProcess, authorization?: string) =>
  fetch(`http://127.0.0.1:${String(at.facts['port'])}/nothing`, { headers: authorization ? { authorization } : {} });

/** For each reason a credential that is refused for it. */
async function refusedCredentials(keySetFile: string): Promise<Record<FailureReason, string | undefined>> {
  const [key, stranger] = [await newKey('ours'), await newKey('strange')];
  writeFileSync(keySetFile, JSON.stringify(keySet(key)));
  const bearer = async (claims: JWTPayload, header = {}, by = key) =>
    `Bearer ${await sign(by, { iss: TokenIssuer.issuer, ...claims }, header)}`;
  const now = Math.floor(Date.now() / 1_000);
  return {
    missing: undefined,
    malformed: 'Bearer abc',
    issuer: await bearer({ iss: 'https://another.example' }),
    algorithm: await bearer({}, {}, await newKey('ours', 'PS256')),
    key: await bearer({}, {}, stranger),
    signature: await bearer({}, { kid: 'ours' }, stranger),
    audience: await bearer({ aud: 'another' }),
    expired: await bearer({ exp: now - 60 }),
    not_yet_valid: await bearer({ nbf: now + 3_600 }),
    claims: await bearer({ exp: undefined }),
    scope: await bearer({ scope: 'profile' }),
  };
}

it('every refusal is the same 401 outside; the reason is in the log and a metric, and the token in neither', async () => {
  const file = join(keys, 'strangers.json');
  const credentials = await refusedCredentials(file);
  const at = await gateway(file, { LOG_LEVEL: 'debug' });
  const answers = new Set<string>();
  for (const [reason, authorization] of Object.entries(credentials)) {
    const answer = await ask(at, authorization);
    expect([answer.status, await answer.json()]).toEqual([401, { code: '401', message: 'User not authorized' }]);
    const challenge = reason === 'missing' ? 'Bearer' : 'Bearer error="invalid_token"';
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
    const differs = new Set(['date', 'x-request-id', 'www-authenticate']);
    answers.add(JSON.stringify([...answer.headers].filter(([name]) => !differs.has(name))));
  }
  expect([...answers]).toHaveLength(1);

  const metrics = await (await fetch(`http://127.0.0.1:${String(at.facts['opsPort'])}/metrics`)).text();
  const counted = [...metrics.matchAll(/^podcast_sync_refused_credentials_total\{reason="(\w+)"\} 1$/gm)];
  const reasons = Object.keys(credentials).sort();
  expect(counted.map(([, reason]) => reason).sort()).toEqual(reasons);
  const logged = () => [...at.output.matchAll(/"reason":"(\w+)".*"a credential was refused"/g)];
  await eventually(() =>
    expect(
      logged()
        .map(([, reason]) => reason)
        .sort(),
    ).toEqual(reasons),
  );
  const claims = Object.values(credentials).flatMap((authorization) => authorization?.split('.')[1] ?? []);
  for (const secret of claims) expect(at.output).not.toContain(secret);
});

it('a gateway believes a rotated key, and no replaced one that is gone, without a restart', async () => {
  const issuer = await TokenIssuer.open(join(keys, 'rotated'));
  const [at, old] = [await gateway(issuer.keySetFile), await issuer.issue('ann')];
  const status = async (token: string) => (await ask(at, `Bearer ${token}`)).status;
  expect(await status(old)).toBe(404);
  await issuer.rotate();
  const token = await issuer.issue('ann');
  await eventually(async () => expect(await status(token)).toBe(404));
  expect(await status(old)).toBe(404);
  await issuer.rotate({ now: true });
  await eventually(async () => expect(await status(old)).toBe(401));
});

it('a gateway does not start in production with a development key, but with one of its own', async () => {
  const issuer = await TokenIssuer.open(join(keys, 'development'));
  const production = { NODE_ENV: 'production' };
  await expect(gateway(issuer.keySetFile, production)).rejects.toThrow(/AUTH_JWKS_FILE: dev-\S+ is a development key/);
  await issuer.rotate({ now: true });
  expect((await ask(await gateway(issuer.keySetFile, production), `Bearer ${await issuer.issue('ann')}`)).status).toBe(
    404,
  );
});
