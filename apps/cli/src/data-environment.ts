import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFiles } from './command.js';

/** Variables that name the same server as the variable of the key, in another way. */
const alternativeVariables: Readonly<Record<string, readonly string[]>> = {
  REDIS_URL: ['REDIS_SENTINELS', 'REDIS_CLUSTER'],
};

/** Error for a data directory without a required file: `podcast-sync start` never ran on it. */
export class MissingDataFileError extends Error {}

/**
 * Returns the environment, with a variable `…_FILE` for each unset variable whose value is in a
 * file of the data directory. If the first variable of `files`, that of the server, is set, the
 * files are used only with `--data`.
 *
 * @throws MissingDataFileError if the directory lacks a needed file.
 */
export function dataEnvironment(
  environment: NodeJS.ProcessEnv,
  files: DataFiles,
  data: { readonly directory: string; readonly isNamed: boolean },
): NodeJS.ProcessEnv {
  const isSet = (name: string) =>
    [name, `${name}_FILE`, ...(alternativeVariables[name] ?? [])].some(
      (variable) => environment[variable],
    );
  const [server] = Object.keys(files);
  if (server === undefined || (isSet(server) && !data.isNamed)) return environment;
  const missing = Object.entries(files).filter(([name]) => !isSet(name));
  const paths = missing.map(([name, file]) => [name, join(data.directory, file)] as const);
  const absent = paths.find(([, path]) => !existsSync(path));
  if (!absent)
    return {
      ...environment,
      ...Object.fromEntries(paths.map(([name, path]) => [`${name}_FILE`, path])),
    };
  const [variable, path] = absent;
  throw new MissingDataFileError(
    `${path} not found: run "podcast-sync start" first, pass --data DIR, or set ${variable}`,
  );
}

/** Checks that a data directory has a file. @throws MissingDataFileError if it does not. */
export function requireDataFile(directory: string, file: string): void {
  const path = join(directory, file);
  if (!existsSync(path))
    throw new MissingDataFileError(
      `${path} not found: run "podcast-sync start" first, or pass --data DIR`,
    );
}
