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

/** Runs the built command. */
function run(command: 'token' | 'keys', ...args: string[]) {
  const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
  return spawnSync(process.execPath, [program, command, ...args, '--data', data], { encoding: 'utf8' });
}

/** Runs the script of package.json. */
function npmRun(script: 'token' | 'keys', ...args: string[]) {
  const command = ['run', '-s', script, '--', ...args, '--data', data];
  return spawnSync('npm', command, { cwd: repository, encoding: 'utf8' });
}

describe('npm run -s token', () => {
  it('prints a token that the key set of the data directory proves, and nothing else', async () => {
    const { stdout, status } = npmRun('token', 'ann', '--scope', 'read:subscriptions', '--expires', '12h');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const keys = JSON.parse(readFileSync(join(data, 'keys', 'jwks.json'), 'utf8')) as JSONWebKeySet;
    const { issuer, audience } = TokenIssuer;
    const { payload } = await jwtVerify(stdout.trim(), createLocalJWKSet(keys), { issuer, audience });
    expect(payload).toMatchObject({ sub: 'ann', scope: 'read:subscriptions' });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(12 * 3_600);
  });
});

describe('npm run -s keys', () => {
  it('rotates: a new key signs, the old one proves its tokens until they have expired', async () => {
    const old = run('token', 'ann', '--expires', '90d').stdout.trim();
    const { stdout, status } = npmRun('keys', 'rotate');
    expect(status).toBe(0);
    const [key, replaced, ...others] = stdout.trim().split('\n');
    expect(key).toMatch(/^[\w-]{43} {2}signs {2}no tokens$/);
    expect(replaced).toMatch(/^dev-[\w-]{43} {2}replaced {2}tokens until \d{4}-\d\d-\d\dT/);
    expect(others).toEqual([]);
    const keys = JSON.parse(readFileSync(join(data, 'keys', 'jwks.json'), 'utf8')) as JSONWebKeySet;
    for (const token of [old, run('token', 'ann').stdout.trim()])
      expect((await jwtVerify(token, createLocalJWKSet(keys))).payload.sub).toBe('ann');
    expect(run('keys', 'list').stdout.match(/^\S+ {2}(signs|replaced)/gm)).toHaveLength(2);
  });

  it('ends older keys at once with --now', () => {
    run('token', 'ann');
    expect(run('keys', 'rotate', '--now').stdout.trim().split('\n')).toHaveLength(1);
  });

  it("rotates the keys of people's accounts with them, where there are some", async () => {
    const folder = join(data, 'keys', 'account');
    const issuer = await TokenIssuer.open(folder);
    const old = await issuer.issue('ann');
    const listed = run('keys', 'list').stdout.trim().split('\n');
    expect(listed).toEqual([expect.stringContaining('no tokens'), expect.stringMatching(/ {2}signs {2}of accounts$/)]);
    expect(run('keys', 'rotate').stdout.match(/ {2}(signs|replaced) {2}of accounts$/gm)).toHaveLength(2);
    const keys = () => JSON.parse(readFileSync(join(folder, 'jwks.json'), 'utf8')) as JSONWebKeySet;
    expect((await jwtVerify(old, createLocalJWKSet(keys()))).payload.sub).toBe('ann');
    expect(run('keys', 'rotate', '--now').stdout.match(/ {2}signs {2}of accounts$/gm)).toHaveLength(1);
    await expect(jwtVerify(old, createLocalJWKSet(keys()))).rejects.toThrow('no applicable key');
  });
});
