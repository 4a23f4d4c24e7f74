import { type CommandDefinition, UsageError } from '../command.js';
import type { CopyOptions } from '../../../dump/src/dump-options.js';

export const copyUsers: CommandDefinition<CopyOptions> = {
  name: 'copy-users',
  summary: "copies users with all their rows to another system's database",
  details:
    'Both databases need the same schema version. The command skips users that are already ' +
    'copied, so it continues after a crash. Stop the writes of the users first ' +
    '(docs/guide/move-users.md).',
  examples: ['copy-users --users group.ndjson', 'copy-users --all'],
  environment:
    'SOURCE_DATABASE_URL and TARGET_DATABASE_URL, of the owners of the databases; ' +
    'AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as in the gateway.',
  exitCodes: '0 all copied, 3 all except rejected users copied, 1 not done',
  declare: (command) =>
    void command
      .option(
        '--users <FILE>',
        'NDJSON file: one {"issuer":"…","subject":"…"} or {"id":"…"} per line',
      )
      .option('--all', 'all users')
      .option('--replace', 'overwrite users that exist in the target with an earlier state', false),
  read: ({ users, all, replace }: { users?: string; all?: true; replace: boolean }) => {
    if ((users === undefined) === (all === undefined))
      throw new UsageError('use exactly one of: --users; --all');
    return { replace, ...(users !== undefined && { users }) };
  },
  run: async (options, { io }) =>
    (await import('../../../dump/src/copy-users.js')).copyUsers(options, io),
};
