import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyFiles } from './key-files.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'key-files-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('KeyFiles', () => {
  it('create a development key once', async () => {
    const [key] = (await KeyFiles.open(directory)).keys();
    expect(key).toEqual({ kid: expect.stringMatching(/^dev-/), signs: true });
    expect((await KeyFiles.open(directory)).keys()).toEqual([key]);
  });

  it('make the signing key readable by this user only, before and after a rotation', async () => {
    const files = await KeyFiles.open(directory);
    for (const change of [() => files.keys(), () => files.rotate()]) {
      await change();
      expect(statSync(join(directory, 'signing-key.json')).mode & 0o777).toBe(0o600);
      expect(readFileSync(files.keySetFile, 'utf8')).not.toContain(files.readSigningKey().d);
    }
  });

  it('keep the previous key after a rotation, and delete earlier ones', async () => {
    const files = await KeyFiles.open(directory);
    const [first] = files.keys();
    const [second, replaced] = await files.rotate();
    expect(second).toEqual({ kid: expect.not.stringMatching(/^dev-/), signs: true });
    expect(replaced).toEqual({ kid: first?.kid, signs: false });
    const [third, ...others] = await files.rotate();
    expect([third?.signs, others]).toEqual([true, [{ kid: second?.kid, signs: false }]]);
    expect((await KeyFiles.open(directory)).keys()).toHaveLength(2);
  });

  it('keep no older key after a rotation that revokes tokens', async () => {
    const files = await KeyFiles.open(directory);
    expect(await files.rotate({ now: true })).toEqual([
      { kid: files.readSigningKey().kid, signs: true },
    ]);
  });
});
