import type { CommandDefinition } from '../command.js';

interface RestoreInput {
  readonly file: string;
  readonly secrets: string | undefined;
}

export const restore: CommandDefinition<RestoreInput> = {
  name: 'restore',
  summary: 'restores data, accounts and keys from a backup to an empty database',
  details:
    'Stop the system first. FILE is a backup of podcast-sync backup; - is the standard input.',
  examples: ['restore podcast-sync.backup', 'restore --secrets .data/secrets -'],
  environment:
    'DATABASE_URL, as the owner of the database, and MIGRATE_GROUPS. If DATABASE_URL is not ' +
    'set: POSTGRES_URL, or the embedded Postgres of --data.',
  data: {},
  declare: (command) =>
    void command
      .argument('<FILE>', 'the backup')
      .option('--secrets <DIR>', 'write the keys to DIR, in the layout of podcast-sync secrets'),
  read: ({ secrets }: { secrets?: string }, [file = '']) => ({ file, secrets }),
  run: async ({ file, secrets }, { io, data }) => {
    const [{ runMigrate }, { restore: restoreBackup }] = await Promise.all([
      import('../../../migrate/src/migrate-program.js'),
      import('../../../dump/src/backup/restore.js'),
    ]);
    const restoreTo = async (env: NodeJS.ProcessEnv, dataDirectory?: string) => {
      const { stdin, stdout, stderr } = io;
      const restoreIo = { env: { LOG_LEVEL: 'warn', ...env }, stdin, stdout, stderr };
      if ((await runMigrate(restoreIo)) !== 0)
        throw new Error('migration failed (see above): nothing was restored');
      const keyTarget =
        secrets !== undefined
          ? ({ layout: 'secrets', path: secrets } as const)
          : dataDirectory !== undefined
            ? ({ layout: 'data', path: dataDirectory } as const)
            : undefined;
      await restoreBackup({ file, keys: keyTarget }, restoreIo);
    };
    if (io.env['DATABASE_URL'] || io.env['DATABASE_URL_FILE']) return restoreTo(io.env);
    const { withStoppedDatabase } = await import('../../../standalone/src/stopped-database.js');
    return withStoppedDatabase(data, io, (env) => restoreTo(env, data));
  },
};
