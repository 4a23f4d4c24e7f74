import type { CommandDefinition } from '../command.js';
import { parseWebUrl } from '../operands.js';

export const login: CommandDefinition<{ api: URL; scope: string }> = {
  name: 'login',
  summary: 'signs in to a server in a browser on any device, and prints an access token',
  examples: ['login', 'login --api https://pods.example'],
  declare: (command) =>
    void command
      .option('--api <URL>', 'address of the API', parseWebUrl, new URL('http://127.0.0.1:3000'))
      .option('--scope <SCOPES>', 'scopes of the token', 'read:subscriptions write:subscriptions'),
  run: async (options, { io }) => {
    const { logIn } = await import('../../../login/src/login.js');
    io.stdout.write(
      `${await logIn({ ...options, say: (line) => void io.stderr.write(`${line}\n`) })}\n`,
    );
  },
};
