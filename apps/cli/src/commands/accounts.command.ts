import type { CommandDefinition, CommandGroup } from '../command.js';
import type { AccountsCommand } from '../../../account/src/operator/accounts.command.js';

/** Settings that all commands for accounts share. */
export const ofAccounts = {
  environment: 'DATABASE_URL, REDIS_URL and PUBLIC_URL, as the account app has them.',
  data: {
    files: {
      DATABASE_URL: 'account-database-url',
      REDIS_URL: 'redis-url',
      PUBLIC_URL: 'account-url',
    },
  },
};

type Verb = AccountsCommand['verb'];

/** Returns a command with at most an account's name and one option: flags, description, default. */
function command(
  verb: Verb,
  summary: string,
  takes: { readonly name?: true; readonly option?: readonly [string, string, string?] } = {},
): CommandDefinition<AccountsCommand> {
  return {
    ...ofAccounts,
    name: verb,
    summary,
    examples: [`accounts ${verb}${takes.name ? ' ann' : ''}`],
    declare: (declared) => {
      if (takes.name) declared.argument('<NAME>', 'the name of the account');
      if (takes.option) declared.option(...takes.option);
    },
    read: (options, [name]) =>
      ({ verb, ...options, ...(takes.name && { name }) }) as AccountsCommand,
    run: async (input, { io }) =>
      (await import('../../../account/src/operator/accounts.command.js')).runAccounts(input, io),
  };
}

const name = true;
const asJson = ['--json', 'as JSON'] as const;
const label = [
  '--label <LABEL>',
  'the device or app that it is for',
  'podcast-sync app-password',
] as const;

/** `podcast-sync accounts` */
export const accounts: CommandGroup = {
  name: 'accounts',
  summary: "manages people's accounts",
  commands: [
    command('list', 'lists the accounts', { option: asJson }),
    command(
      'create',
      'makes an account, and prints a link by which its person chooses a password (7 days, once)',
      {
        name,
      },
    ),
    command(
      'invite',
      'prints a link by which somebody makes an account with a name of their own (7 days, once)',
    ),
    command('first-link', 'prints a link for the first account; nothing where somebody has one'),
    command('reset', 'prints a link by which the person chooses a new password (1 hour, once)', {
      name,
    }),
    command(
      'disable',
      'keeps a person from signing in and from their data until enabled; nothing is lost',
      { name },
    ),
    command('enable', 'undoes disable', { name }),
    command('erase', 'erases the account and everything of its person, permanently', { name }),
  ],
};

/** `podcast-sync app-password` */
export const appPassword: CommandDefinition<AccountsCommand> = {
  ...command('app-password', 'prints an app password of an account, and nothing else', {
    name,
    option: label,
  }),
  details: 'It is for one device or app, reads and writes, and does not expire.',
  examples: ['app-password ann --label "My phone"'],
};
