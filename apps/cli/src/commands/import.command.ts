import { type CommandDefinition, UsageError } from '../command.js';
import { webUrl } from '../operands.js';
import type { ImportOptions } from '../../../gpodder/src/import/import.options.js';

type Typed = Omit<ImportOptions, 'login'> & {
  readonly login?: string;
  readonly insecure?: boolean;
};

/** `podcast-sync import` */
export const importCommand: CommandDefinition<ImportOptions> = {
  name: 'import',
  summary: 'copies an account of another server into an account here',
  details:
    'The other server speaks the gpodder API or is a Nextcloud with gpoddersync. Subscriptions, episode actions and ' +
    'favourites are copied. What is newer here stays: twice is the same as once, and what was unsubscribed stays so.',
  examples: ['import --from https://cloud.example --user ann'],
  environment: 'REDIS_URL or the like, as all apps have it.',
  exitCodes: '0 all imported, 1 not done',
  data: { files: { REDIS_URL: 'redis-url' } },
  declare: (command) =>
    void command
      .requiredOption('--from <URL>', 'the other server, as its address is typed into apps', webUrl)
      .requiredOption('--user <NAME>', 'the account here, and there')
      .option('--login <NAME>', 'the account there, where it has another name')
      .option(
        '--password-file <FILE>',
        'the password there, on its first line (default: it is asked for, and never kept)',
      )
      .option('--insecure', 'take http: everybody on the way can read the password')
      .option(
        '--progress <FILE>',
        'where it is noted how far it came; a new start continues there (default: import-….progress here)',
      ),
  read: ({ from, user, login = user, passwordFile, progress, insecure }: Typed) => {
    if (from.username !== '' || from.password !== '')
      throw new UsageError(
        'everybody could see a password in --from: it is asked for, or read by --password-file',
      );
    if (from.protocol === 'http:' && !insecure)
      throw new UsageError(
        '--from has no https: everybody on the way could read the password (--insecure takes it)',
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
    (await import('../../../gpodder/src/import/import.js')).importAccount(options, io.env),
};
