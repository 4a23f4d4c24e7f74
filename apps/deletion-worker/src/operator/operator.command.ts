import { parseArgs } from 'node:util';

/** What an operator wants done with deletion records. */
export type OperatorCommand =
  | { readonly verb: 'list'; readonly status: 'PENDING' | 'FAILURE'; readonly limit: number; readonly json: boolean }
  | { readonly verb: 'retry'; readonly deletionId: number }
  | { readonly verb: 'fail'; readonly deletionId: number; readonly operator: string | undefined };

export const usage = `Usage: npm run -s deletions -- COMMAND

  list [--pending | --failed] [--limit N] [--json]
                         what waits, longest first, or what failed, latest first (default --pending, 50 of them)
  retry ID               sends a pending deletion to the queue again now, whatever its last job is doing
  fail ID [--as NAME]    ends a pending deletion in FAILURE, with nothing deleted; the record says who did it

Environment: DATABASE_URL or DATABASE_URL_FILE, as the deletion worker has it. When neither is set, the system that
\`npm start\` runs on .data is meant; of one on another directory say DATABASE_URL_FILE=DIR/deletions-database-url.

Exit codes: 0 done, 1 not done, 2 not understood, 78 no usable environment.`;

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {}

const optionsOf: Readonly<Record<string, readonly string[]>> = {
  list: ['pending', 'failed', 'limit', 'json'],
  retry: [],
  fail: ['as'],
};

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readCommand(args: readonly string[]): OperatorCommand {
  const { values, positionals } = parsed(args);
  if (values.help) throw new UsageError();
  const [verb, ...operands] = positionals;
  const known = optionsOf[verb ?? ''];
  if (!verb || !known) throw new UsageError(verb ? `there is no command ${verb}` : 'a command is needed');
  const foreign = Object.keys(values).find((option) => !known.includes(option));
  if (foreign) throw new UsageError(`${verb} knows no --${foreign}`);
  if (verb === 'list') {
    if (operands.length > 0) throw new UsageError('list takes no ID');
    if (values.pending && values.failed) throw new UsageError('either --pending or --failed');
    const status = values.failed ? 'FAILURE' : 'PENDING';
    return { verb, status, limit: whole(values.limit ?? '50', '--limit', 10_000), json: values.json ?? false };
  }
  if (operands.length !== 1) throw new UsageError(`${verb} takes exactly one ID`);
  const deletionId = whole(operands[0] ?? '', 'ID', Number.MAX_SAFE_INTEGER);
  return verb === 'fail' ? { verb, deletionId, operator: values.as } : { verb: 'retry', deletionId };
}

function parsed(args: readonly string[]) {
  const options = {
    pending: { type: 'boolean' },
    failed: { type: 'boolean' },
    json: { type: 'boolean' },
    limit: { type: 'string' },
    as: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function whole(text: string, what: string, most: number): number {
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : NaN;
  if (!(value <= most)) throw new UsageError(`${what} is a whole number from 1 to ${most}, not "${text}"`);
  return value;
}
