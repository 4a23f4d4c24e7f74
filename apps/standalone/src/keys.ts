import { join } from 'node:path';
import { KeyFiles, type KeySetEntry } from '#embedded';
import type { ProgramIo } from '#runtime';
import { accountKeys } from './app-programs.js';

/** Prints the signing keys of the account app in a data directory. */
export async function listKeys(data: string, io: ProgramIo): Promise<void> {
  printKeys((await KeyFiles.open(join(data, accountKeys))).keys(), io);
}

/** Creates a new signing key, and prints the keys whose tokens are valid. */
export async function rotateKeys(
  data: string,
  rotation: { readonly now: boolean },
  io: ProgramIo,
): Promise<void> {
  printKeys(await (await KeyFiles.open(join(data, accountKeys))).rotate(rotation), io);
}

function printKeys(keys: readonly KeySetEntry[], io: ProgramIo): void {
  for (const { kid, signs } of keys) io.stdout.write(`${kid}  ${signs ? 'signs' : 'replaced'}\n`);
}
