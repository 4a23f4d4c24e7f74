import { type CommandDefinition, UsageError } from '../command.js';
import type { EraseCommand } from '../../../deletion-worker/src/operator/erase.program.js';

type Typed = Partial<Record<'issuer' | 'subject' | 'user' | 'users', string>>;

/** `podcast-sync erase` */
export const erase: CommandDefinition<EraseCommand> = {
  name: 'erase',
  summary: 'erases everything that is kept of users, permanently, and refuses them from then on',
  details:
    'It follows what the deletion worker does until all of it is done. When it is interrupted the worker goes on, ' +
    'and the same command follows it again.',
  examples: ['erase --issuer https://id.example --subject 1234', 'erase --users group.ndjson'],
  environment:
    'DATABASE_URL, AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as the deletion worker and the gateway have them.',
  exitCodes: '0 erased, 1 not done',
  data: { files: { DATABASE_URL: 'deletions-database-url' } },
  declare: (command) =>
    void command
      .option('--issuer <I>', 'with --subject: the user whose tokens say so')
      .option('--subject <S>', 'with --issuer')
      .option('--user <ID>', 'the user with this id')
      .option(
        '--users <FILE>',
        'those in a file, a line each: {"issuer","subject"} or {"id"} (docs/reference/data.md)',
      ),
  read: async ({ issuer, subject, user: id, users: file }: Typed) => {
    const ways = [
      id !== undefined,
      file !== undefined,
      issuer !== undefined || subject !== undefined,
    ];
    if (ways.filter(Boolean).length !== 1)
      throw new UsageError('who? --issuer with --subject, --user or --users');
    if (file !== undefined) return { file };
    const { dataUserSchema } = await import('#contracts');
    const user = dataUserSchema.safeParse(id === undefined ? { issuer, subject } : { id }).data;
    if (!user)
      throw new UsageError(
        id === undefined ? '--issuer and --subject go together' : '--user takes a UUID',
      );
    return { user };
  },
  run: async (command, { io }) =>
    (await import('../../../deletion-worker/src/operator/erase.program.js')).runErase(command, io),
};
