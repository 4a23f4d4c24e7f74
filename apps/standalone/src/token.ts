import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TokenIssuer } from '#embedded';

const usage = `Usage: npm run -s token -- USER [--scope "read:subscriptions write:subscriptions"] [--expires 12h] [--data DIR]`;

/** Prints a token of the built-in issuer and nothing else. */
async function main(): Promise<void> {
  const { user, scope, expires, data } = readArguments();
  const issuer = await TokenIssuer.open(join(data, 'keys'));
  process.stdout.write(`${await issuer.issue(user, { scope, expires })}\n`);
}

function readArguments() {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    options: { scope: text, expires: text, data: { ...text, default: '.data' } },
    allowPositionals: true,
  });
  const [user, ...others] = positionals;
  if (!user || others.length > 0) throw new TypeError('exactly one USER is needed');
  return { user, ...values };
}

try {
  await main();
} catch (error) {
  // What can't be understood is a TypeError, of Node's argument parser and of the lifetime alike.
  const misused = error instanceof TypeError;
  process.stderr.write(`token: ${(error as Error).message}\n${misused ? `${usage}\n` : ''}`);
  process.exitCode = misused ? 2 : 1;
}
