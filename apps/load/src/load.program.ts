import { ConfigurationError, type ProgramIo } from '#runtime';
import { load } from './load.js';
import { readOptions, usage, UsageError } from './load.options.js';

/** Runs `load` with a command line. @returns the exit code. */
export async function runLoad(args: readonly string[], io: ProgramIo): Promise<number> {
  try {
    return await load(readOptions(args), io);
  } catch (error) {
    const [exitCode, text] = explained(error);
    io.stderr.write(`${text}\n`);
    return exitCode;
  }
}

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `load: ${error.message}\n\n${usage}` : usage];
  if (error instanceof ConfigurationError) return [78, `load: ${error.message}`];
  return [1, `load: ${(error as Error).message}`];
}
