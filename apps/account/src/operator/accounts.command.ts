import { scopes } from '#contracts';
import { alignedTable, CommandFailed, type ProgramIo } from '#runtime';
import { type Account, accountState } from '../people/accounts.js';
import { type OperatorContext, withOperatorContext } from './operator-context.js';

/** Options of the command `accounts`. */
export type AccountsCommand =
  | { readonly verb: 'list'; readonly json?: boolean }
  | {
      readonly verb: 'create' | 'reset' | 'disable' | 'enable' | 'appoint' | 'dismiss' | 'erase';
      readonly name: string;
    }
  | { readonly verb: 'app-password'; readonly name: string; readonly label: string }
  | { readonly verb: 'invite' | 'first-link' };

/** Lifetime in minutes of the reset link by which the owner of a new account sets a password. */
const newAccountLinkMinutes = 7 * 24 * 60;

/** Runs a command and prints its result. @throws CommandFailed, ConfigurationError. */
export async function runAccounts(command: AccountsCommand, io: ProgramIo): Promise<void> {
  io.stdout.write(await withOperatorContext((context) => executeCommand(command, context), io.env));
}

async function executeCommand(command: AccountsCommand, context: OperatorContext): Promise<string> {
  const { accounts, administrators, links, registration } = context;
  switch (command.verb) {
    case 'list':
      return formatAccountList(await listAllAccounts(context), command.json);
    case 'create':
      return createAccount(command.name, context);
    case 'invite':
      return `${(await links.createLink('invite')).url}\n`;
    case 'first-link': {
      const link = await registration.createFirstLink();
      return link ? `${link.url}\n` : '';
    }
    case 'app-password':
      return createAppPassword(command, context);
    case 'reset': {
      const { id } = await findAccount(command.name, context);
      return `${(await links.createLink('reset', { accountId: id })).url}\n`;
    }
    case 'disable':
      await accounts.disable((await findAccount(command.name, context)).id);
      return `${command.name} is disabled and signed out everywhere.\n`;
    case 'enable':
      await accounts.enable((await findAccount(command.name, context)).id);
      return `${command.name} is enabled.\n`;
    case 'appoint':
      await administrators.appoint((await findAccount(command.name, context)).id);
      return `${command.name} is an administrator.\n`;
    case 'dismiss':
      await administrators.dismiss((await findAccount(command.name, context)).id);
      return `${command.name} is no longer an administrator.\n`;
    case 'erase': {
      const { id } = await findAccount(command.name, context);
      await context.erasureRequests.requestErasure(id);
      return `${command.name} is signed out everywhere. All data of user ${id} is being erased.\n`;
    }
  }
}

async function createAccount(name: string, { accounts, links }: OperatorContext): Promise<string> {
  const account = await accounts.create({ name });
  // The account has no password. Its owner sets one by a reset link.
  const { url } = await links.createLink('reset', { accountId: account.id }, newAccountLinkMinutes);
  return `${url}\n`;
}

async function createAppPassword(
  { name, label }: AccountsCommand & { verb: 'app-password' },
  context: OperatorContext,
): Promise<string> {
  const { id, disabled } = await findAccount(name, context);
  if (disabled) throw new CommandFailed(`${name} is disabled: enable the account first`);
  const { secret } = await context.appPasswords.create(id, { label, scopes });
  return `${secret}\n`;
}

async function findAccount(name: string, { accounts }: OperatorContext): Promise<Account> {
  const account = await accounts.findByName(name);
  if (!account) throw new CommandFailed(`no account is named ${name}: see "accounts list"`);
  return account;
}

async function listAllAccounts({ accounts }: OperatorContext): Promise<Account[]> {
  const accountList: Account[] = [];
  for (;;) {
    const page = await accounts.list({ limit: 1_000, after: accountList.at(-1) });
    accountList.push(...page);
    if (page.length === 0) return accountList;
  }
}

const columnHeadings = [
  'NAME',
  'USER',
  'SINCE',
  'STATE',
  'SECOND FACTOR',
  'ADMINISTRATOR',
] as const;

function formatAccountList(accounts: readonly Account[], asJson = false): string {
  if (asJson) return `${JSON.stringify(accounts, undefined, 2)}\n`;
  return alignedTable([columnHeadings, ...accounts.map(toTableCells)]);
}

function toTableCells(account: Account): string[] {
  const { name, id, createdAt, isAdministrator } = account;
  const toYesOrNo = (condition: boolean) => (condition ? 'yes' : 'no');
  return [
    name ?? '-',
    id,
    createdAt.toISOString(),
    accountState(account),
    toYesOrNo(account.hasTotp || account.passkeyCount > 0),
    toYesOrNo(isAdministrator),
  ];
}
