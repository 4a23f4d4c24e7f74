import { InvalidArgumentError, Option } from 'commander';
import type { CommandDefinition } from '../command.js';
import type { DumpOptions, Shard } from '../../../dump/src/dump.options.js';

/** `podcast-sync dump` */
export const dump: CommandDefinition<DumpOptions> = {
  name: 'dump',
  summary: 'writes what users have as NDJSON, each user as of one moment',
  details: 'The last line says that it is complete (docs/reference/data.md).',
  examples: ['dump --out users.ndjson.gz', 'dump --shard 3/16 --out 3.ndjson.gz'],
  environment: 'DATABASE_URL or DATABASE_URL_FILE, of the role podcast_sync_dump.',
  exitCodes: '0 complete, 1 not complete',
  data: { files: { DATABASE_URL: 'dump-database-url' } },
  declare: (command) =>
    void command
      .option(
        '--users <FILE>',
        'whom: a line {"issuer":"…","subject":"…"} or {"id":"…"} for each (default: everybody)',
      )
      .addOption(
        new Option('--shard <I/N>', 'of N parts of all users the one with number I, from 1')
          .argParser(shardOf)
          .default({ index: 0, of: 1 }, '1/1')
          .conflicts('users'),
      )
      .option(
        '--out <FILE>',
        'a new file for its owner alone, compressed as .gz (default: the standard output)',
      ),
  run: async (options, { io }) => (await import('../../../dump/src/dump.js')).dump(options, io),
};

function shardOf(text: string): Shard {
  const [, number, of] = (/^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? []).map(Number);
  if (!number || !of || number > of)
    throw new InvalidArgumentError('It is I/N, with I from 1 to N.');
  return { index: number - 1, of };
}
