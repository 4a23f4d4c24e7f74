import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TokenIssuer } from './token.issuer.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'token-issuer-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

const dayMs = 86_400_000;

async function verified(issuer: TokenIssuer, token: string) {
  const keys = JSON.parse(readFileSync(issuer.keySetFile, 'utf8')) as JSONWebKeySet;
  const { issuer: iss, audience } = TokenIssuer;
  return (await jwtVerify(token, createLocalJWKSet(keys), { issuer: iss, audience })).payload;
}

describe('TokenIssuer', () => {
  it('signs a token that its public key set proves, good for 30 days and without a scope', async () => {
    const issuer = await TokenIssuer.open(directory);
    const { sub, scope, iat = 0, exp = 0 } = await verified(issuer, await issuer.issue('ann'));
    expect({ sub, scope, days: (exp - iat) / 86_400 }).toEqual({ sub: 'ann', scope: undefined, days: 30 });
  });

  it('puts scope and lifetime into the token', async () => {
    const issuer = await TokenIssuer.open(directory);
    const terms = { scope: 'read:subscriptions', expires: '12h' };
    const { scope, iat = 0, exp = 0 } = await verified(issuer, await issuer.issue('ann', terms));
    expect({ scope, hours: (exp - iat) / 3_600 }).toEqual({ scope: 'read:subscriptions', hours: 12 });
  });

  it('keeps its key: a token outlives a restart', async () => {
    const token = await (await TokenIssuer.open(directory)).issue('ann');
    expect(await verified(await TokenIssuer.open(directory), token)).toMatchObject({ sub: 'ann' });
  });

  it('keeps its signing key to this user and publishes no part of it', async () => {
    const { keySetFile } = await TokenIssuer.open(directory);
    const { d } = JSON.parse(readFileSync(join(directory, 'signing-key.json'), 'utf8')) as { d: string };
    expect(statSync(join(directory, 'signing-key.json')).mode & 0o777).toBe(0o600);
    expect(readFileSync(keySetFile, 'utf8')).not.toContain(d);
  });

  it('keeps a replaced key in the key set until its tokens have expired, and no longer', async () => {
    const [old, issuer] = [await TokenIssuer.open(directory), await TokenIssuer.open(directory)];
    const token = await old.issue('ann', { expires: '40d' });
    await issuer.rotate();
    expect(await verified(issuer, token)).toMatchObject({ sub: 'ann' });
    expect(await verified(issuer, await old.issue('bob'))).toMatchObject({ sub: 'bob' });
    expect(issuer.keys().map(({ signs }) => signs)).toEqual([true, false]);
    vi.useFakeTimers({ now: Date.now() + 39 * dayMs, toFake: ['Date'] });
    expect((await TokenIssuer.open(directory)).keys()).toHaveLength(2);
    vi.setSystemTime(Date.now() + 2 * dayMs);
    expect((await TokenIssuer.open(directory)).keys()).toHaveLength(1);
  });

  it('ends the tokens of older keys at once where that is asked for', async () => {
    const issuer = await TokenIssuer.open(directory);
    const token = await issuer.issue('ann');
    await issuer.rotate({ now: true });
    await expect(verified(issuer, token)).rejects.toThrow(errors.JWKSNoMatchingKey);
    expect(await verified(issuer, await issuer.issue('ann'))).toMatchObject({ sub: 'ann' });
  });

  it('marks the key that nobody asked for, and no other', async () => {
    const issuer = await TokenIssuer.open(directory);
    expect(issuer.keys()[0]?.kid).toMatch(/^dev-/);
    expect((await issuer.rotate())[0]?.kid).not.toMatch(/^dev-/);
  });

  it('keeps every file but the key set to this user, also after a rotation', async () => {
    const issuer = await TokenIssuer.open(directory);
    await issuer.issue('ann');
    await issuer.rotate();
    for (const name of ['signing-key.json', 'token-expiries'])
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  it('refuses a lifetime that it does not understand', async () => {
    const issuer = await TokenIssuer.open(directory);
    await expect(issuer.issue('ann', { expires: 'soon' })).rejects.toThrow(TypeError);
  });
});
