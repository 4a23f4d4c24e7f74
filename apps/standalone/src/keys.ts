import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type KnownKey, TokenIssuer } from '#embedded';
import type { ProgramIo } from '#runtime';
import { accountKeys } from './app.programs.js';

/** Shows the keys of the built-in issuer of a data directory, and those of people's accounts where there are some. */
export async function listKeys(data: string, io: ProgramIo): Promise<void> {
  await eachIssuer(data, io, (issuer) => issuer.keys());
}

/** Makes new keys for both that sign from now on, and shows all that are in use. */
export async function rotateKeys(data: string, rotation: { readonly now: boolean }, io: ProgramIo): Promise<void> {
  await eachIssuer(data, io, (issuer) => issuer.rotate(rotation));
}

async function eachIssuer(
  data: string,
  io: ProgramIo,
  keysOf: (issuer: TokenIssuer) => readonly KnownKey[] | Promise<readonly KnownKey[]>,
): Promise<void> {
  for (const folder of ['keys', accountKeys]) {
    const isOfAccounts = folder === accountKeys;
    if (isOfAccounts && !existsSync(join(data, folder))) continue;
    for (const key of await keysOf(await TokenIssuer.open(join(data, folder))))
      io.stdout.write(`${isOfAccounts ? accountLine(key) : line(key)}\n`);
  }
}

function line({ kid, signs, until }: KnownKey): string {
  const last = until === undefined ? 'no tokens' : `tokens until ${new Date(until * 1_000).toISOString()}`;
  return `${kid}  ${signs ? 'signs' : 'replaced'}  ${last}`;
}

/** A token of the account app is good for ten minutes, and nobody notes when the last one was signed. */
function accountLine({ kid, signs }: KnownKey): string {
  return `${kid}  ${signs ? 'signs' : 'replaced'}  of accounts`;
}
