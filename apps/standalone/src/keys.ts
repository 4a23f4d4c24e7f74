import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type KnownKey, TokenIssuer } from '#embedded';
import { accountKeys } from './app.programs.js';

const usage = `Usage: npm run -s keys -- list [--data DIR]
       npm run -s keys -- rotate [--now] [--data DIR]

The keys of the command line's tokens and of people's accounts, below DIR (.data unless said).
rotate signs with a new key; the old one proves its tokens until they have expired.
With --now they end at once, as after a leak.`;

/**
 * Shows or rotates the keys of the built-in issuer, and those of people's accounts where the system has made some, and
 * prints those that are in use.
 */
async function main(): Promise<void> {
  const { command, data, now } = readArguments();
  for (const folder of ['keys', accountKeys]) {
    const isOfAccounts = folder === accountKeys;
    if (isOfAccounts && !existsSync(join(data, folder))) continue;
    const issuer = await TokenIssuer.open(join(data, folder));
    const keys = command === 'rotate' ? await issuer.rotate({ now }) : issuer.keys();
    for (const key of keys) process.stdout.write(`${isOfAccounts ? accountLine(key) : line(key)}\n`);
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

function readArguments() {
  const { values, positionals } = parseArgs({
    options: { data: { type: 'string', default: '.data' }, now: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [command, ...others] = positionals;
  if ((command !== 'list' && command !== 'rotate') || others.length > 0)
    throw new TypeError('either list or rotate is needed');
  if (values.now && command === 'list') throw new TypeError('--now goes with rotate');
  return { command, ...values };
}

try {
  await main();
} catch (error) {
  // What can't be understood is a TypeError, as of Node's argument parser.
  const misused = error instanceof TypeError;
  process.stderr.write(`keys: ${(error as Error).message}\n${misused ? `${usage}\n` : ''}`);
  process.exitCode = misused ? 2 : 1;
}
