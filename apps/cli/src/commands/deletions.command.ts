import { Option } from 'commander';
import type { CommandDefinition, CommandGroup } from '../command.js';
import { integerBetween } from '../operands.js';
import type { DeletionsCommand } from '../../../deletion-worker/src/operator/deletions.js';

const deletionsEnvironment = {
  environment: 'DATABASE_URL or DATABASE_URL_FILE, as the deletion worker has it.',
  data: { files: { DATABASE_URL: 'deletions-database-url' } },
  run: async (command, { io }) =>
    (await import('../../../deletion-worker/src/operator/deletions.js')).runDeletions(command, io),
} satisfies Partial<CommandDefinition<DeletionsCommand>>;

const parseDeletionId = integerBetween(1, Number.MAX_SAFE_INTEGER);

const listDeletions: CommandDefinition<DeletionsCommand> = {
  ...deletionsEnvironment,
  name: 'list',
  summary: 'lists pending deletions, oldest first, or failed ones, latest first',
  examples: ['deletions list', 'deletions list --failed --json'],
  declare: (command) =>
    void command
      .option('--pending', 'pending deletions (default)')
      .addOption(new Option('--failed', 'failed deletions').conflicts('pending'))
      .option('--limit <N>', 'maximum number of deletions', integerBetween(1, 10_000), 50)
      .option('--json', 'prints JSON'),
  read: ({ failed, limit, json = false }: { failed?: boolean; limit: number; json?: boolean }) => ({
    verb: 'list',
    status: failed ? 'FAILURE' : 'PENDING',
    limit,
    json,
  }),
};

const retryDeletion: CommandDefinition<DeletionsCommand> = {
  ...deletionsEnvironment,
  name: 'retry',
  summary: 'sends a pending deletion to the queue again, regardless of its last job',
  examples: ['deletions retry 12'],
  declare: (command) => void command.argument('<ID>', 'id of the deletion', parseDeletionId),
  read: (_, [id]) => ({ verb: 'retry', deletionId: Number(id) }),
};

const failDeletion: CommandDefinition<DeletionsCommand> = {
  ...deletionsEnvironment,
  name: 'fail',
  summary: 'ends a pending deletion in FAILURE without deleting anything',
  examples: ['deletions fail 12 --as ann'],
  declare: (command) =>
    void command
      .argument('<ID>', 'id of the deletion', parseDeletionId)
      .option('--as <NAME>', 'operator name to record as the cause (default: the OS user)'),
  read: ({ as }: { as?: string }, [id]) => ({ verb: 'fail', deletionId: Number(id), operator: as }),
};

export const deletions: CommandGroup = {
  name: 'deletions',
  summary: 'manages pending and failed deletions',
  commands: [listDeletions, retryDeletion, failDeletion],
};
