import { join } from 'node:path';
import type { CommandDefinition } from '../command.js';

interface BackupInput {
  readonly file: string;
  readonly secrets: string | undefined;
}

const ownerUrlFile = 'owner-database-url';

export const backup: CommandDefinition<BackupInput> = {
  name: 'backup',
  summary: "writes users' data, accounts and keys to a file, while the system runs",
  details:
    'Creates a gzip file of mode 0600; - as FILE is the standard output. podcast-sync restore ' +
    'reads it.',
  examples: ['backup podcast-sync.backup', 'backup --secrets .data/secrets -'],
  environment: 'DATABASE_URL, with the login of the owner of the database.',
  data: { files: { DATABASE_URL: ownerUrlFile } },
  declare: (command) =>
    void command
      .argument('<FILE>', 'a new file')
      .option(
        '--secrets <DIR>',
        'also back up the keys in DIR, which podcast-sync secrets created',
      ),
  read: ({ secrets }: { secrets?: string }, [file = '']) => ({ file, secrets }),
  run: async ({ file, secrets }, { io, data }) => {
    const usesDataDirectory = io.env['DATABASE_URL_FILE'] === join(data, ownerUrlFile);
    const keys =
      secrets !== undefined
        ? ({ layout: 'secrets', path: secrets } as const)
        : usesDataDirectory
          ? ({ layout: 'data', path: data } as const)
          : undefined;
    return (await import('../../../dump/src/backup/backup.js')).backup({ file, keys }, io);
  },
};
