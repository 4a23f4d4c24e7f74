import { scopes } from '#contracts';
import { alignedTable, CommandFailed, type ProgramIo } from '#runtime';
import type { Account } from '../people/accounts.js';
import { type Surroundings, withSurroundings } from './operator.surroundings.js';

/** Operator's command on accounts. */
export type AccountsCommand =
  | { readonly verb: 'list'; readonly json?: boolean }
  | { readonly verb: 'create' | 'reset' | 'disable' | 'enable' | 'erase'; readonly name: string }
  | { readonly verb: 'app-password'; readonly name: string; readonly label: string }
  | { readonly verb: 'invite' | 'first-link' };

/** Lifetime of the link for a new account, in minutes. */
const weekMinutes = 7 * 24 * 60;

/** Runs a command and prints its result. @throws CommandFailed, ConfigurationError. */
export async function runAccounts(command: AccountsCommand, io: ProgramIo): Promise<void> {
  io.stdout.write(
    await withSurroundings((surroundings) => carryOut(command, surroundings), io.env),
  );
}

async function carryOut(command: AccountsCommand, surroundings: Surroundings): Promise<string> {
  const { accounts, links, registration } = surroundings;
  switch (command.verb) {
    case 'list':
      return listed(await everybody(surroundings), command.json);
    case 'create':
      return create(command.name, surroundings);
    case 'invite':
      return `${(await links.make('invite')).url}\n`;
    case 'first-link': {
      const link = await registration.firstLink();
      return link ? `${link.url}\n` : '';
    }
    case 'app-password':
      return appPassword(command, surroundings);
    case 'reset': {
      const { id } = await named(command.name, surroundings);
      return `${(await links.make('reset', { accountId: id })).url}\n`;
    }
    case 'disable':
      await accounts.disable((await named(command.name, surroundings)).id);
      return `${command.name} is disabled: signed out everywhere, and refused from now on.\n`;
    case 'enable':
      await accounts.enable((await named(command.name, surroundings)).id);
      return `${command.name} is enabled.\n`;
    case 'erase': {
      const { id } = await named(command.name, surroundings);
      await surroundings.erasure.request(id);
      return `${command.name} is signed out everywhere, and everything of the user ${id} is erased from now on.\n`;
    }
  }
}

async function create(name: string, { accounts, links }: Surroundings): Promise<string> {
  const account = await accounts.create({ name });
  // The account has no password, so the person sets one by a reset link.
  const { url } = await links.make('reset', { accountId: account.id }, weekMinutes);
  return `${url}\n`;
}

async function appPassword(
  { name, label }: AccountsCommand & { verb: 'app-password' },
  surroundings: Surroundings,
): Promise<string> {
  const { id, disabled } = await named(name, surroundings);
  if (disabled) throw new CommandFailed(`${name} is disabled: enable the account first`);
  const { secret } = await surroundings.appPasswords.make(id, { label, scopes });
  return `${secret}\n`;
}

async function named(name: string, { accounts }: Surroundings): Promise<Account> {
  const account = await accounts.findByName(name);
  if (!account) throw new CommandFailed(`there is no account ${name}`);
  return account;
}

async function everybody({ accounts }: Surroundings): Promise<Account[]> {
  const all: Account[] = [];
  for (;;) {
    const page = await accounts.list(all.at(-1));
    all.push(...page);
    if (page.length === 0)
      return all.sort((a, b) =>
        (a.name ?? '').toLowerCase() < (b.name ?? '').toLowerCase() ? -1 : 1,
      );
  }
}

const headings = ['NAME', 'USER', 'SINCE', 'STATE', 'SECOND FACTOR'] as const;

function listed(all: readonly Account[], json = false): string {
  if (json) return `${JSON.stringify(all, undefined, 2)}\n`;
  return alignedTable([headings, ...all.map(cells)]);
}

function cells({ name, id, createdAt, disabled, hasPassword, hasTotp, issuer }: Account): string[] {
  const state = disabled ? 'disabled' : hasPassword || issuer ? 'active' : 'no password';
  return [name ?? '-', id, createdAt.toISOString(), state, hasTotp ? 'yes' : 'no'];
}
