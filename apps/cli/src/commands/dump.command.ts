import { InvalidArgumentError, Option } from 'commander';
import type { CommandDefinition } from '../command.js';
import type { DumpOptions, UserPartition } from '../../../dump/src/dump-options.js';

export const dump: CommandDefinition<DumpOptions> = {
  name: 'dump',
  summary: "writes users' data as NDJSON, a consistent snapshot of each user",
  details: 'The last line marks a complete file (docs/reference/data.md).',
  examples: ['dump --out users.ndjson.gz', 'dump --shard 3/16 --out 3.ndjson.gz'],
  environment:
    'DATABASE_URL, of the role podcast_sync_dump; with issuers in --users also AUTH_OWN_ISSUER ' +
    'and AUTH_ISSUER_ALIASES, as in the gateway.',
  exitCodes: '0 complete, 1 not complete',
  data: { files: { DATABASE_URL: 'dump-database-url' } },
  declare: (command) =>
    void command
      .option(
        '--users <FILE>',
        'NDJSON file: one {"issuer":"…","subject":"…"} or {"id":"…"} per line (default: all users)',
      )
      .addOption(
        new Option('--shard <I/N>', 'part I of N parts of all users, I from 1 to N')
          .argParser(parsePartition)
          .default({ index: 0, of: 1 }, '1/1')
          .conflicts('users'),
      )
      .option(
        '--out <FILE>',
        'new file that only its owner can read, compressed as .gz (default: standard output)',
      ),
  run: async (options, { io }) => (await import('../../../dump/src/dump.js')).dump(options, io),
};

function parsePartition(text: string): UserPartition {
  const [, partitionNumber, partitionCount] = (/^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? []).map(
    Number,
  );
  if (!partitionNumber || !partitionCount || partitionNumber > partitionCount)
    throw new InvalidArgumentError('Expected I/N, with I from 1 to N.');
  return { index: partitionNumber - 1, of: partitionCount };
}
