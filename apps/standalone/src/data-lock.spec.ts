import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '#embedded';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockData } from './data-lock.js';

const [stalePid, otherPid] = [4_000_001, 4_000_002];
let directory: string;
let lock: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'data-lock-'));
  lock = join(directory, 'lock');
  writeFileSync(lock, `${stalePid}\n`);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Returns command lines of which only the other start has one. `meanwhile` runs once before. */
function commandsAfter(meanwhile: () => void) {
  let isFirst = true;
  return (pid: number) => {
    if (isFirst) meanwhile();
    isFirst = false;
    return pid === otherPid ? 'node podcast-sync.js start' : '';
  };
}

describe('lockData', () => {
  it('replaces a stale lock, and leaves no file after the release', () => {
    const unlock = lockData(directory);
    expect(readFileSync(lock, 'utf8')).toBe(`${process.pid}\n`);
    expect(readdirSync(directory)).toEqual(['lock']);
    unlock();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('replaces a lock without a process id', () => {
    writeFileSync(lock, '');
    lockData(directory);
    expect(readFileSync(lock, 'utf8')).toBe(`${process.pid}\n`);
  });

  it('keeps the lock of another start that replaced the stale one first', () => {
    const commands = commandsAfter(() => writeFileSync(lock, `${otherPid}\n`));
    expect(() => lockData(directory, commands)).toThrow(StartError);
    expect(readFileSync(lock, 'utf8')).toBe(`${otherPid}\n`);
    expect(readdirSync(directory)).toEqual(['lock']);
  });

  it('locks after another start has removed the stale lock', () => {
    lockData(
      directory,
      commandsAfter(() => rmSync(lock)),
    );
    expect(readFileSync(lock, 'utf8')).toBe(`${process.pid}\n`);
  });
});
