import { scopes as allScopes } from '#contracts';
import type { ProgramIo } from '#runtime';
import type { Account, Accounts } from '../people/accounts.js';
import { withOperatorContext } from './operator-context.js';

/** Options of the command `token`, which creates an app password of an account. */
export interface TokenOptions {
  /** Name of the account. */
  readonly user: string;
  /** Scopes, separated by spaces. Default: all. */
  readonly scope?: string;
  /** Lifetime with the unit s, m, h or d, such as `12h`. Default: `30d`. */
  readonly expires?: string;
}

/**
 * Prints a new app password of an account, and creates the account if it does not exist.
 *
 * @throws CommandFailed, ConfigurationError.
 */
export async function runToken(
  { user, scope, expires = '30d' }: TokenOptions,
  { env, stdout }: ProgramIo,
): Promise<void> {
  const expiresAt = new Date(Date.now() + parseLifetime(expires) * 1_000);
  const scopes = scope?.split(' ') ?? allScopes;
  const { secret } = await withOperatorContext(async ({ accounts, appPasswords }) => {
    const { id } = await findOrCreateAccount(accounts, user);
    return appPasswords.create(id, { label: 'podcast-sync token', scopes, expiresAt });
  }, env);
  stdout.write(`${secret}\n`);
}

async function findOrCreateAccount(accounts: Accounts, name: string): Promise<Account> {
  const existing = await accounts.findByName(name);
  if (existing) return existing;
  try {
    return await accounts.create({ name });
  } catch (error) {
    // A concurrent command can have created the account.
    const created = await accounts.findByName(name);
    if (!created) throw error;
    return created;
  }
}

const secondsByUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Returns a lifetime such as `12h` in seconds. */
function parseLifetime(lifetime: string): number {
  return Number.parseInt(lifetime, 10) * (secondsByUnit[lifetime.at(-1) ?? ''] as number);
}
