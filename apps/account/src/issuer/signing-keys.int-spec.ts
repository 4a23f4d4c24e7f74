import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '#runtime';
import { KeyFiles } from '#embedded';
import { eventually } from '#testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SigningKeys } from './signing-keys.js';

let directory: string;
let keys: SigningKeys | undefined;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'))));
afterEach(() => {
  keys?.close();
  rmSync(directory, { recursive: true, force: true });
});

const log = createLog('account', 'silent');
const kids = () => keys?.publicKeySet.keys.map(({ kid }) => kid) ?? [];

it('publishes a new key immediately, and does not sign with it yet', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  const before = keys.signingKey.kid;
  const [rotated] = await files.rotate();
  await eventually(() => expect(kids()).toContain(rotated?.kid));
  expect(keys.signingKey.kid).toBe(before);
  expect(kids()).toContain(before);
});

it('signs with a new key after the publication period, and notifies listeners', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log, 1);
  let changes = 0;
  keys.onChange(() => changes++);
  const [rotated] = await files.rotate();
  await eventually(() => expect(keys?.signingKey.kid).toBe(rotated?.kid));
  expect(changes).toBe(1);
});

it('signs with a new key immediately if the old one was removed', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  const [rotated] = await files.rotate({ now: true });
  await eventually(() => expect(keys?.signingKey.kid).toBe(rotated?.kid));
  expect(kids()).toEqual([rotated?.kid]);
});

it('keeps the keys while a file is broken or lacks the key, and logs each once', async () => {
  await KeyFiles.open(directory);
  const lines: { level: string; msg: string; err?: { message: string } }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  keys = new SigningKeys(directory, createLog('account', 'info', { write }));
  const before = kids();
  const file = join(directory, 'jwks.json');
  const set = readFileSync(file, 'utf8');
  writeFileSync(file, '{');
  await eventually(() => expect(lines).toHaveLength(1), { timeout: 10_000 });
  writeFileSync(file, '{"keys":[]}');
  await eventually(() => expect(lines).toHaveLength(2), { timeout: 10_000 });
  expect(kids()).toEqual(before);
  writeFileSync(file, set);
  await eventually(() => expect(lines).toHaveLength(3), { timeout: 10_000 });
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'info']);
  expect(lines[1]?.err?.message).toContain('the signing key is not in the key set');
});

it('never publishes private keys', async () => {
  await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  expect(JSON.stringify(keys.publicKeySet)).not.toContain(keys.signingKey.d);
});

it('does not start without keys', () => {
  expect(() => new SigningKeys(directory, log)).toThrow(/no such file/);
});
