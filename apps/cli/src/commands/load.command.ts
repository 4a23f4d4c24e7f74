import { type CommandDefinition, UsageError } from '../command.js';
import { integerBetween } from '../operands.js';
import type { LoadOptions } from '../../../load/src/load-options.js';

/** Number of users to load concurrently. In measurements, more users only waited for Postgres. */
const defaultParallelUsers = 2;

export const load: CommandDefinition<LoadOptions> = {
  name: 'load',
  summary: "writes users' data from files into the running system, in addition to existing data",
  details: 'A FILE is NDJSON, plain or gzip; - is the standard input (docs/reference/data.md).',
  examples: ['load users.ndjson.gz'],
  environment:
    'REDIS_URL or other REDIS_ variables, AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as in the ' +
    'gateway.',
  exitCodes: '0 all loaded, 3 all except rejected lines loaded, 1 not done',
  data: { files: { REDIS_URL: 'redis-url' } },
  declare: (command) =>
    void command
      .argument('<FILE...>', 'files to load')
      .option(
        '--parallel <N>',
        'number of users to load concurrently',
        integerBetween(1, 32),
        defaultParallelUsers,
      )
      .option(
        '--refused <FILE>',
        'file for rejected lines, one JSON object each (default: FILE.refused)',
      )
      .option(
        '--progress <FILE>',
        'file with the progress, from which a later run continues (default: FILE.progress)',
      ),
  read: (options: Omit<LoadOptions, 'files'>, files) => {
    if (files.length > 1 && (options.refused !== undefined || options.progress !== undefined))
      throw new UsageError('use --refused and --progress only for one FILE');
    if (files.includes('-') && options.progress !== undefined)
      throw new UsageError(
        '--progress needs a FILE: a load from the standard input cannot be continued',
      );
    return { ...options, files };
  },
  run: async (options, { io }) => (await import('../../../load/src/load.js')).load(options, io),
};
