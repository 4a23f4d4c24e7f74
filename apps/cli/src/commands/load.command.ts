import { type CommandDefinition, UsageError } from '../command.js';
import { whole } from '../operands.js';
import type { LoadOptions } from '../../../load/src/load.options.js';

/** Measured: more parallel users only wait for Postgres, and slow down other users. */
const defaultParallel = 2;

/** `podcast-sync load` */
export const load: CommandDefinition<LoadOptions> = {
  name: 'load',
  summary:
    "writes users' data from files into the running system, in addition to that of its users",
  details: 'A FILE is NDJSON, plain or gzip, - for the standard input (docs/reference/data.md).',
  examples: ['load users.ndjson.gz'],
  environment:
    'REDIS_URL or the like, AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as gateways have them.',
  exitCodes: '0 all loaded, 3 loaded but for what was refused, 1 not done',
  data: { files: { REDIS_URL: 'redis-url' } },
  declare: (command) =>
    void command
      .argument('<FILE...>', 'what to load')
      .option(
        '--parallel <N>',
        'users that are on their way at the same time',
        whole(1, 32),
        defaultParallel,
      )
      .option(
        '--refused <FILE>',
        'where refused lines go, one JSON object each (default: FILE.refused)',
      )
      .option(
        '--progress <FILE>',
        'where it is noted how far it came; a new start continues there (default: FILE.progress)',
      ),
  read: (options: Omit<LoadOptions, 'files'>, files) => {
    if (files.length > 1 && (options.refused !== undefined || options.progress !== undefined))
      throw new UsageError('--refused and --progress are for one FILE');
    if (files.includes('-') && options.progress !== undefined)
      throw new UsageError(
        'of the standard input nothing can be skipped: --progress is for a file',
      );
    return { ...options, files };
  },
  run: async (options, { io }) => (await import('../../../load/src/load.js')).load(options, io),
};
