import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenIssuer } from '#embedded';
import { repository } from '#testing';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'token-'));
});
afterEach(() => rmSync(data, { recursive: true }));

function token(...args: string[]) {
  const command = ['run', '-s', 'token', '--', ...args, '--data', data];
  return spawnSync('npm', command, { cwd: repository, encoding: 'utf8' });
}

describe('npm run -s token', () => {
  it('prints a token that the key set of the data directory proves, and nothing else', async () => {
    const { stdout, status } = token('ann', '--scope', 'read:subscriptions', '--expires', '12h');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const keys = JSON.parse(readFileSync(join(data, 'keys', 'jwks.json'), 'utf8')) as JSONWebKeySet;
    const { issuer, audience } = TokenIssuer;
    const { payload } = await jwtVerify(stdout.trim(), createLocalJWKSet(keys), { issuer, audience });
    expect(payload).toMatchObject({ sub: 'ann', scope: 'read:subscriptions' });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(12 * 3_600);
  });

  it.each([
    ['no user', []],
    ['two users', ['ann', 'ben']],
    ['an unknown option', ['ann', '--nope']],
    ['a lifetime that it does not understand', ['ann', '--expires', 'soon']],
  ])('answers %s with the usage on standard error and exit code 2', (_case, args) => {
    const { stdout, stderr, status } = token(...args);
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
    expect(stderr).toContain('Usage: npm run -s token -- USER');
  });
});
