import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeContainerSecrets } from './container-secrets.js';

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'container-secrets-'));
  await makeContainerSecrets(directory);
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Returns every file with its content, except the signing key and the key sets made from it. */
function secrets(): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/signing-key|jwks/.test(path));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')]));
}
const kids = () =>
  (
    JSON.parse(readFileSync(join(directory, 'gateway', 'jwks.json'), 'utf8')) as JSONWebKeySet
  ).keys.map(({ kid }) => kid);

it('are created once: a second run changes nothing', async () => {
  const before = { ...secrets(), keys: kids() };
  await makeContainerSecrets(directory);
  expect({ ...secrets(), keys: kids() }).toEqual(before);
});

it('include private keys of the account app: 32 bytes for encryption, one for signing', () => {
  const key = readFileSync(join(directory, 'account', 'SECRETS_KEY'), 'utf8');
  expect(Buffer.from(key, 'base64url')).toHaveLength(32);
  const signing = readFileSync(join(directory, 'account', 'signing-key.json'), 'utf8');
  const { kid, d } = JSON.parse(signing) as { kid: string; d: string };
  expect(kids()).toEqual([kid]);
  const ofOthers = Object.entries(secrets()).filter(([path]) => !path.includes('/account/'));
  for (const [, content] of ofOthers)
    for (const secret of [key, d]) expect(content).not.toContain(secret);
});

it('include a private key of 32 bytes that signs the cookies of gpodder', () => {
  const key = readFileSync(join(directory, 'gpodder', 'SESSION_KEY'), 'utf8');
  expect(Buffer.from(key, 'base64url')).toHaveLength(32);
  const ofOthers = Object.entries(secrets()).filter(([path]) => !path.includes('/gpodder/'));
  for (const [, content] of ofOthers) expect(content).not.toContain(key);
});

describe('the keys that sign tokens', () => {
  it('get a new one by rotation, published to the gateway next to the old one', async () => {
    const [old] = kids();
    await makeContainerSecrets(directory, 'gently');
    expect(kids()).toEqual([expect.not.stringMatching(/^dev-/), old]);
  });

  it('contain only the new one after a rotation that revokes tokens', async () => {
    const before = secrets();
    await makeContainerSecrets(directory, 'now');
    expect(kids()).toEqual([expect.not.stringMatching(/^dev-/)]);
    expect(secrets()).toEqual(before);
  });
});
