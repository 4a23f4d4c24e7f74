import { parseArgs } from 'node:util';
import { logIn } from './login.js';

const usage = `Usage: npm run -s login -- [--api URL] [--scope "read:subscriptions write:subscriptions"]

Signs in to the server behind URL (default: http://127.0.0.1:3000) in a browser on any device, and prints an access token.`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      api: { type: 'string', default: 'http://127.0.0.1:3000' },
      scope: { type: 'string', default: 'read:subscriptions write:subscriptions' },
    },
  });
  if (!URL.canParse(values.api)) throw new TypeError(`${values.api} is not a URL`);
  return values;
}

try {
  const { api, scope } = readArguments();
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  process.stdout.write(`${await logIn({ api: new URL(api), scope, say })}\n`);
} catch (error) {
  // What can't be understood is a TypeError of Node's argument parser; those of fetch have a cause.
  const misused = error instanceof TypeError && error.cause === undefined;
  process.stderr.write(`login: ${(error as Error).message}\n${misused ? `${usage}\n` : ''}`);
  process.exitCode = misused ? 2 : 1;
}
