import { ConfigurationError } from '#runtime';
import { importAccount } from './import.js';
import { readOptions, usage, UsageError } from './import.options.js';

try {
  await importAccount(readOptions(process.argv.slice(2)));
} catch (error) {
  const [exitCode, text] = explained(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = exitCode;
}

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `import: ${error.message}\n\n${usage}` : usage];
  if (error instanceof ConfigurationError) return [78, `import: ${error.message}`];
  return [1, `import: ${(error as Error).message}`];
}
