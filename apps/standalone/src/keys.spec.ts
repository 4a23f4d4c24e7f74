import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProgramIo } from '#runtime';
import { callProgram } from '#testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listKeys, rotateKeys } from './keys.js';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'keys-'));
});
afterEach(() => rmSync(data, { recursive: true }));

async function lines(command: (io: ProgramIo) => Promise<void>): Promise<string[]> {
  const program = async (_: readonly string[], io: ProgramIo) => {
    await command(io);
    return 0;
  };
  return (await callProgram(program, [], {})).stdout.trim().split('\n');
}
const list = () => lines((io) => listKeys(data, io));
const rotate = (now: boolean) => lines((io) => rotateKeys(data, { now }, io));

it('lists and rotates the keys of a data directory', async () => {
  const [first, ...others] = await list();
  expect([first, others]).toEqual([expect.stringMatching(/^dev-[\w-]{43} {2}signs$/), []]);
  const rotated = [
    expect.stringMatching(/^[\w-]{43} {2}signs$/),
    first?.replace('signs', 'replaced'),
  ];
  expect(await rotate(false)).toEqual(rotated);
  expect(await list()).toEqual(rotated);
  expect(await rotate(true)).toHaveLength(1);
});
