import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenIssuer } from './token.issuer.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'token-issuer-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

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

  it('refuses a lifetime that it does not understand', async () => {
    const issuer = await TokenIssuer.open(directory);
    await expect(issuer.issue('ann', { expires: 'soon' })).rejects.toThrow(TypeError);
  });
});
