import { ConfigurationError } from '#runtime';
import { load } from './load.js';
import { readOptions, usage, UsageError } from './load.options.js';

try {
  process.exitCode = await load(readOptions(process.argv.slice(2)));
} catch (error) {
  const [exitCode, text] = explained(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = exitCode;
}

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `load: ${error.message}\n\n${usage}` : usage];
  if (error instanceof ConfigurationError) return [78, `load: ${error.message}`];
  return [1, `load: ${(error as Error).message}`];
}
