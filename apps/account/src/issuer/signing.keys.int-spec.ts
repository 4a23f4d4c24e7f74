import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '#runtime';
import { KeyFiles } from '#embedded';
import { eventually } from '#testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SigningKeys } from './signing.keys.js';

let directory: string;
let keys: SigningKeys | undefined;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'))));
afterEach(() => {
  keys?.close();
  rmSync(directory, { recursive: true, force: true });
});

const log = createLog('account', 'silent');
const kids = () => keys?.keySet.keys.map(({ kid }) => kid) ?? [];

it('publishes a new key immediately, and does not sign with it yet', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  const before = keys.signing.kid;
  const [rotated] = await files.rotate();
  await eventually(() => expect(kids()).toContain(rotated?.kid));
  expect(keys.signing.kid).toBe(before);
  expect(kids()).toContain(before);
});

it('signs with a new key after the publication period, and notifies listeners', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log, 1);
  let changes = 0;
  keys.onChange(() => changes++);
  const [rotated] = await files.rotate();
  await eventually(() => expect(keys?.signing.kid).toBe(rotated?.kid));
  expect(changes).toBe(1);
});

it('signs with a new key immediately if the old one was removed', async () => {
  const files = await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  const [rotated] = await files.rotate({ now: true });
  await eventually(() => expect(keys?.signing.kid).toBe(rotated?.kid));
  expect(kids()).toEqual([rotated?.kid]);
});

it('never publishes private keys', async () => {
  await KeyFiles.open(directory);
  keys = new SigningKeys(directory, log);
  expect(JSON.stringify(keys.keySet)).not.toContain(keys.signing.d);
});

it('does not start without keys', () => {
  expect(() => new SigningKeys(directory, log)).toThrow(/no such file/);
});
