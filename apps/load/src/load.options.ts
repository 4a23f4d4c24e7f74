import { parseArgs } from 'node:util';

/** What is to be loaded, and how. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  /** How many users are on their way at the same time. */
  readonly parallel: number;
  /** Where refused lines go; by default beside each file. */
  readonly refused: string | undefined;
  /** Where it is noted how far a file was loaded; by default beside it. */
  readonly progress: string | undefined;
}

/** As measured: more only waits for Postgres, and other users for it. */
const defaultParallel = 2;

export const usage = `Usage: npm run -s load -- [OPTIONS] FILE...

Writes users' data (NDJSON, plain or gzip, - for the standard input; docs/data.md) into the running system, beside its users.

  --parallel N      users that are on their way at the same time (default ${defaultParallel}, at most 32)
  --refused FILE    where refused lines go, one JSON object each (default FILE.refused)
  --progress FILE   where it is noted how far it came (default FILE.progress); started again it goes on from there

Environment: REDIS_URL or the like, AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as gateways have them. When no REDIS_URL is
set, the system that \`npm start\` runs on .data is meant.

Exit codes: 0 all loaded, 3 loaded but for what was refused, 1 not done, 2 not understood, 78 no usable environment.`;

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {}

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readOptions(args: readonly string[]): LoadOptions {
  const { values, positionals: files } = parsed(args);
  if (values.help) throw new UsageError();
  if (files.length === 0) throw new UsageError('a FILE is needed');
  const parallel = Number(values.parallel ?? defaultParallel);
  if (!Number.isInteger(parallel) || parallel < 1 || parallel > 32)
    throw new UsageError('--parallel is a whole number from 1 to 32');
  if (files.length > 1 && (values.refused !== undefined || values.progress !== undefined))
    throw new UsageError('--refused and --progress are for one FILE');
  if (files.includes('-') && values.progress !== undefined)
    throw new UsageError('of the standard input nothing can be skipped: --progress is for a file');
  return { files, parallel, refused: values.refused, progress: values.progress };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { parallel: text, refused: text, progress: text, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
