import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TokenIssuer } from '#embedded';
import { scopes as allScopes } from '#contracts';
import { commandLineId } from '../people/registration.js';
import type { Outcome } from './operator.js';
import { explained } from './operator.errors.js';
import { type Surroundings, withSurroundings } from './operator.surroundings.js';

const usage = `Usage: npm run -s token -- USER [--scope "read:subscriptions write:subscriptions"] [--expires 12h] [--data DIR]`;

interface Wanted {
  readonly user: string;
  readonly scope?: string | undefined;
  readonly expires?: string | undefined;
  readonly data: string;
}

/** Makes a bearer token: where accounts run an app password, elsewhere a token of the built-in issuer. */
async function makeToken(args: readonly string[]): Promise<string> {
  const wanted = readArguments(args);
  const environment = accountsOf(wanted.data);
  return environment
    ? await withSurroundings((surroundings) => appPassword(wanted, surroundings), environment)
    : await (await TokenIssuer.open(join(wanted.data, 'keys'))).issue(wanted.user, wanted);
}

/** Where the accounts of a data directory are; undefined where it has none, as that of a container for tokens. */
function accountsOf(data: string): NodeJS.ProcessEnv | undefined {
  const files = {
    DATABASE_URL_FILE: 'account-database-url',
    REDIS_URL_FILE: 'redis-url',
    PUBLIC_URL_FILE: 'account-url',
  };
  if (!existsSync(join(data, files.DATABASE_URL_FILE))) return undefined;
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(data, file)]));
}

/** Makes an app password, and the account where there is none: that of the command line's user of this name. */
async function appPassword(
  { user, scope, expires }: Wanted,
  { accounts, appPasswords }: Surroundings,
): Promise<string> {
  const expiresAt = expiryOf(expires);
  const account = (await accounts.findByName(user)) ?? (await accounts.create({ name: user, id: commandLineId(user) }));
  const scopes = scope?.split(' ') ?? allScopes;
  const { secret } = await appPasswords.make(account.id, { label: 'npm run token', scopes, expiresAt });
  return secret;
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** @throws TypeError where a lifetime such as `12h` can't be understood. */
function expiryOf(lifetime = TokenIssuer.lifetime): Date {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(lifetime) ?? [];
  if (count === undefined)
    throw new TypeError(`a lifetime is a number with s, m, h or d, such as 12h, not "${lifetime}"`);
  return new Date(Date.now() + Number(count) * (seconds[unit] as number) * 1_000);
}

function readArguments(args: readonly string[]): Wanted {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { scope: text, expires: text, data: { ...text, default: '.data' } },
    allowPositionals: true,
  });
  const [user, ...others] = positionals;
  if (!user || others.length > 0) throw new TypeError('exactly one USER is needed');
  return { user, ...values };
}

/** Reads a command line and carries it out. The token is all that it prints. */
export async function runToken(args: readonly string[]): Promise<Outcome> {
  try {
    return { code: 0, stdout: `${await makeToken(args)}\n`, stderr: '' };
  } catch (error) {
    // What can't be understood is a TypeError, of Node's argument parser and of the lifetime alike.
    const misused = error instanceof TypeError;
    const stderr = `token: ${misused ? error.message : explained(error)}\n${misused ? `${usage}\n` : ''}`;
    return { code: misused ? 2 : 1, stdout: '', stderr };
  }
}
