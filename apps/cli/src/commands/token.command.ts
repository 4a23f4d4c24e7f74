import { InvalidArgumentError } from 'commander';
import type { CommandDefinition } from '../command.js';
import { ofAccounts } from './accounts.command.js';
import type { TokenOptions } from '../../../account/src/operator/token.command.js';

/** `podcast-sync token` */
export const token: CommandDefinition<Omit<TokenOptions, 'data'>> = {
  name: 'token',
  summary: 'prints a bearer token of a user, and nothing else',
  details:
    "Where people have accounts it is an app password of USER's account, which is made where there is none; " +
    'elsewhere a token of the built-in issuer, whose keys are in the data directory.',
  examples: ['token ann', 'token ann --scope read:subscriptions --expires 12h'],
  environment: ofAccounts.environment,
  data: { ...ofAccounts.data, isOptional: true },
  declare: (command) =>
    void command
      .argument('<USER>', 'the name of the user')
      .option('--scope <SCOPES>', 'what it allows (default: "read:subscriptions write:subscriptions")')
      .option('--expires <TIME>', 'how long it lives, such as 12h (default: 30d)', lifetime),
  read: (options, [user = '']) => ({ user, ...options }),
  run: async (options, { io, data }) =>
    (await import('../../../account/src/operator/token.command.js')).runToken({ ...options, data }, io),
};

function lifetime(text: string): string {
  if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return text;
  throw new InvalidArgumentError('A lifetime is a number with s, m, h or d, such as 12h.');
}
