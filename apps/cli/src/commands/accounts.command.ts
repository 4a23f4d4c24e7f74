import type { CommandDefinition, CommandGroup } from '../command.js';
import type { AccountsCommand } from '../../../account/src/operator/accounts.command.js';

/** Environment and data files of all commands for accounts. */
export const accountsEnvironment = {
  environment: 'DATABASE_URL, REDIS_URL and PUBLIC_URL, as the account app has them.',
  data: {
    files: {
      DATABASE_URL: 'account-database-url',
      REDIS_URL: 'redis-url',
      PUBLIC_URL: 'account-url',
    },
  },
};

type AccountsVerb = AccountsCommand['verb'];

/**
 * Creates a command for accounts.
 *
 * @param parameters `name` adds the argument with the account's name. `option` has the flags, the
 *   description and the default of one option.
 */
function createAccountsCommand(
  verb: AccountsVerb,
  summary: string,
  parameters: { readonly name?: true; readonly option?: readonly [string, string, string?] } = {},
): CommandDefinition<AccountsCommand> {
  return {
    ...accountsEnvironment,
    name: verb,
    summary,
    examples: [`accounts ${verb}${parameters.name ? ' ann' : ''}`],
    declare: (declared) => {
      if (parameters.name) declared.argument('<NAME>', 'the name of the account');
      if (parameters.option) declared.option(...parameters.option);
    },
    read: (options, [name]) =>
      ({ verb, ...options, ...(parameters.name && { name }) }) as AccountsCommand,
    run: async (input, { io }) =>
      (await import('../../../account/src/operator/accounts.command.js')).runAccounts(input, io),
  };
}

/** True for a command that has the name of an account as its argument. */
const name = true;
const jsonOption = ['--json', 'prints JSON'] as const;
const labelOption = [
  '--label <LABEL>',
  'the device or app that uses the app password',
  'podcast-sync app-password',
] as const;

export const accounts: CommandGroup = {
  name: 'accounts',
  summary: "manages people's accounts",
  commands: [
    createAccountsCommand('list', 'lists the accounts', { option: jsonOption }),
    createAccountsCommand(
      'create',
      'creates an account, and prints a link to choose its password (valid for 7 days, once)',
      {
        name,
      },
    ),
    createAccountsCommand(
      'invite',
      'prints a link to create an account with any name (valid for 7 days, once)',
    ),
    createAccountsCommand(
      'first-link',
      'prints a link to create the first account, or nothing if one exists',
    ),
    createAccountsCommand(
      'reset',
      'prints a link to choose a new password (valid for 1 hour, once)',
      {
        name,
      },
    ),
    createAccountsCommand(
      'disable',
      'blocks sign-in and access to data until the account is enabled; keeps all data',
      { name },
    ),
    createAccountsCommand('enable', 'enables a disabled account', { name }),
    createAccountsCommand('appoint', 'lets the person manage the accounts of others on the pages', {
      name,
    }),
    createAccountsCommand('dismiss', 'takes this right away; not from the last administrator', {
      name,
    }),
    createAccountsCommand('erase', 'erases the account and all data of its user, permanently', {
      name,
    }),
  ],
};

export const appPassword: CommandDefinition<AccountsCommand> = {
  ...createAccountsCommand(
    'app-password',
    'creates an app password of an account, and prints only that',
    {
      name,
      option: labelOption,
    },
  ),
  details: 'The app password is for one device or app, can read and write, and does not expire.',
  examples: ['app-password ann --label "My phone"'],
};
