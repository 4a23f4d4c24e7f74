import { UnknownUserLine } from '#identity';
import { ConfigurationError, loadConfig, type ProgramIo } from '#runtime';
import { dump } from './dump.js';
import { dumpConfig } from './dump.config.js';
import { readOptions, usage, UsageError } from './dump.options.js';

const whereItLooks =
  'Type it where the system runs, or say where its Postgres is: npm run -s dump -- --help tells how.';

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `dump: ${error.message}\n\n${usage}` : usage];
  if (error instanceof ConfigurationError) return [78, `dump: ${error.message}\n${whereItLooks}`];
  const { code, message } = error as { code?: string; message?: string };
  if (error instanceof UnknownUserLine) return [1, `dump: not complete: ${message}`];
  return [1, `dump: not complete: ${message || code || String(error)}`];
}

/** Runs `dump` with a command line. @returns the exit code. */
export async function runDump(args: readonly string[], io: ProgramIo): Promise<number> {
  try {
    io.stderr.write(`${await dump(readOptions(args), loadConfig(dumpConfig, io.env), io)}\n`);
    return 0;
  } catch (error) {
    const [exitCode, text] = explained(error);
    io.stderr.write(`${text}\n`);
    return exitCode;
  }
}
