import { InvalidArgumentError } from 'commander';
import type { CommandDefinition } from '../command.js';
import { accountsEnvironment } from './accounts.command.js';
import type { TokenOptions } from '../../../account/src/operator/token.command.js';

export const token: CommandDefinition<TokenOptions> = {
  name: 'token',
  summary: 'creates a bearer token of a user, and prints only that',
  details: "The token is an app password of USER's account. A missing account is created.",
  examples: ['token ann', 'token ann --scope read:subscriptions --expires 12h'],
  ...accountsEnvironment,
  declare: (command) =>
    void command
      .argument('<USER>', 'the name of the user')
      .option(
        '--scope <SCOPES>',
        'scopes of the token (default: "read:subscriptions write:subscriptions")',
      )
      .option('--expires <TIME>', 'lifetime, such as 12h (default: 30d)', parseLifetime),
  read: (options, [user = '']) => ({ user, ...options }),
  run: async (options, { io }) =>
    (await import('../../../account/src/operator/token.command.js')).runToken(options, io),
};

function parseLifetime(text: string): string {
  if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return text;
  throw new InvalidArgumentError('A lifetime is a number with s, m, h or d, such as 12h.');
}
