import { type CommandDefinition, UsageError } from '../command.js';
import type { EraseCommand } from '../../../deletion-worker/src/operator/erase-program.js';

type EraseOptions = Partial<Record<'issuer' | 'subject' | 'user' | 'users', string>>;

export const erase: CommandDefinition<EraseCommand> = {
  name: 'erase',
  summary: 'erases all data of users permanently and rejects their requests',
  details:
    'The deletion worker erases the data, and the command waits until it has finished. If you ' +
    'interrupt the command, the worker continues: run the same command to wait again.',
  examples: ['erase --issuer https://id.example --subject 1234', 'erase --users group.ndjson'],
  environment:
    'DATABASE_URL, as in the deletion worker; AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as in the ' +
    'gateway.',
  exitCodes: '0 erased, 1 not done',
  data: { files: { DATABASE_URL: 'deletions-database-url' } },
  declare: (command) =>
    void command
      .option('--issuer <I>', 'the issuer of the tokens of the user, with --subject')
      .option('--subject <S>', 'the subject of the user, with --issuer')
      .option('--user <ID>', 'the user with this id')
      .option(
        '--users <FILE>',
        'NDJSON file: one {"issuer","subject"} or {"id"} per line (docs/reference/data.md)',
      ),
  read: async ({ issuer, subject, user: id, users: file }: EraseOptions) => {
    const usedSelectors = [
      id !== undefined,
      file !== undefined,
      issuer !== undefined || subject !== undefined,
    ];
    if (usedSelectors.filter(Boolean).length !== 1)
      throw new UsageError('use exactly one of: --issuer and --subject; --user; --users');
    if (file !== undefined) return { file };
    const { dataUserSchema } = await import('#contracts');
    const user = dataUserSchema.safeParse(id === undefined ? { issuer, subject } : { id }).data;
    if (!user)
      throw new UsageError(
        id === undefined ? 'use --issuer and --subject together' : '--user needs a UUID',
      );
    return { user };
  },
  run: async (command, { io }) =>
    (await import('../../../deletion-worker/src/operator/erase-program.js')).runErase(command, io),
};
