import { parseArgs } from 'node:util';

/** Users whose id falls into one of several parts by its hash, counted from 0. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** What an operator wants dumped, and where to. */
export interface DumpOptions {
  /** A file that names users; not set: all of the shard. */
  readonly users: string | undefined;
  readonly shard: Shard;
  /** Not set: standard output. */
  readonly out: string | undefined;
}

export const usage = `Usage: npm run -s dump -- [--users FILE | --shard I/N] [--out FILE]

  --users FILE   whom: a line {"issuer":"…","subject":"…"} or {"id":"…"} for each; without it everybody, by id
  --shard I/N    of N parts of all users the one with number I, from 1 (default 1/1)
  --out FILE     a new file, readable for its owner alone; compressed where it ends in .gz (default: standard output)

Writes what users have as NDJSON (docs/data.md), each user as of one moment. The last line says that it is complete.

Environment: DATABASE_URL or DATABASE_URL_FILE, of the role podcast_sync_dump. When neither is set, the system that
\`npm start\` runs on .data is meant; of one on another directory say DATABASE_URL_FILE=DIR/dump-database-url.

Exit codes: 0 complete, 1 not complete, 2 not understood, 78 no usable environment.`;

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {}

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readOptions(args: readonly string[]): DumpOptions {
  const { help, users, shard, out } = parsed(args);
  if (help) throw new UsageError();
  if (users !== undefined && shard !== undefined) throw new UsageError('either --users or --shard');
  return { users, shard: readShard(shard ?? '1/1'), out };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { users: text, shard: text, out: text, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readShard(text: string): Shard {
  const [, number, of] = (/^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? []).map(Number);
  if (!number || !of || number > of) throw new UsageError('--shard is I/N, with I from 1 to N');
  return { index: number - 1, of };
}
