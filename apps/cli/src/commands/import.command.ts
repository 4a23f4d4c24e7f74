import { type CommandDefinition, UsageError } from '../command.js';
import { parseWebUrl } from '../operands.js';
import type { ImportOptions } from '../../../gpodder/src/import/import-options.js';

type ImportInput = Omit<ImportOptions, 'login'> & {
  readonly login?: string;
  readonly insecure?: boolean;
};

export const importCommand: CommandDefinition<ImportOptions> = {
  name: 'import',
  summary: 'imports an account of another server into an account of this one',
  details:
    'The other server has the gpodder API or is a Nextcloud with gpoddersync. The command ' +
    'imports subscriptions, episode actions and favourites. It keeps newer data of this server, ' +
    'also unsubscriptions. A repetition has no further effect.',
  examples: ['import --from https://cloud.example --user ann'],
  environment: 'REDIS_URL or other REDIS_ variables, as in all apps.',
  exitCodes: '0 imported, 1 not done',
  data: { files: { REDIS_URL: 'redis-url' } },
  declare: (command) =>
    void command
      .requiredOption(
        '--from <URL>',
        'address of the other server, as in podcast apps',
        parseWebUrl,
      )
      .requiredOption('--user <NAME>', 'name of the account on this and on the other server')
      .option('--login <NAME>', 'account on the other server, if its name differs')
      .option(
        '--password-file <FILE>',
        'file whose first line is the password on the other server (default: a prompt)',
      )
      .option('--insecure', 'allows http, which reveals the password on the network')
      .option(
        '--progress <FILE>',
        'file with the progress, from which a later run continues (default: import-….progress)',
      ),
  read: ({ from, user, login = user, passwordFile, progress, insecure }: ImportInput) => {
    if (from.username !== '' || from.password !== '')
      throw new UsageError(
        'a password in --from is visible to others: use the prompt or --password-file',
      );
    if (from.protocol === 'http:' && !insecure)
      throw new UsageError(
        'http reveals the password on the network: use https in --from, or allow it by --insecure',
      );
    const pathname = from.pathname.endsWith('/') ? from.pathname : `${from.pathname}/`;
    return {
      from: Object.assign(new URL(from), { search: '', hash: '', pathname }),
      user,
      login,
      passwordFile,
      progress,
    };
  },
  run: async (options, { io }) =>
    (await import('../../../gpodder/src/import/import.js')).importAccount(options, io),
};
