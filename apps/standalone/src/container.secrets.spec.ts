import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeContainerSecrets } from './container.secrets.js';

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'container-secrets-'));
  await makeContainerSecrets(directory);
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Every file with its content, but for the issuer's own. */
function secrets(): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.includes('/tokens/'));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')]));
}
const kids = () =>
  (JSON.parse(readFileSync(join(directory, 'gateway', 'jwks.json'), 'utf8')) as JSONWebKeySet).keys.map(
    ({ kid }) => kid,
  );

it('are made once: a second run changes nothing', async () => {
  const before = secrets();
  await makeContainerSecrets(directory);
  expect(secrets()).toEqual(before);
});

it('get a new key by a rotation, and the gateway is told of it; the old key stays for its tokens', async () => {
  const [old] = kids();
  await makeContainerSecrets(directory, 'gently');
  expect(kids()).toEqual([expect.not.stringMatching(/^dev-/), old]);
});

it('keep no older key after a rotation that ends their tokens, and nothing else changes', async () => {
  const before = secrets();
  await makeContainerSecrets(directory, 'now');
  expect(kids()).toEqual([expect.not.stringMatching(/^dev-/)]);
  const keySet = join(directory, 'gateway', 'jwks.json');
  expect({ ...secrets(), [keySet]: '' }).toEqual({ ...before, [keySet]: '' });
});
