import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFiles } from './command.js';

/** Variables that can name a server instead of the variable of the key. */
const alternativeVariables: Readonly<Record<string, readonly string[]>> = {
  REDIS_URL: ['REDIS_SENTINELS', 'REDIS_CLUSTER'],
};

/** A required file is missing, because `podcast-sync start` never ran on the data directory. */
export class MissingDataFileError extends Error {}

/**
 * Returns the environment with a variable `…_FILE` for each variable of `files` that is not set.
 * The first variable of `files` names the server. If it is set and the command line has no
 * `--data`, returns the environment unchanged.
 *
 * @throws MissingDataFileError if the directory lacks a needed file.
 */
export function dataEnvironment(
  environment: NodeJS.ProcessEnv,
  files: DataFiles,
  data: { readonly directory: string; readonly isNamed: boolean },
): NodeJS.ProcessEnv {
  const isVariableSet = (name: string) =>
    [name, `${name}_FILE`, ...(alternativeVariables[name] ?? [])].some(
      (variable) => environment[variable],
    );
  const [serverVariable] = Object.keys(files);
  if (serverVariable === undefined || (isVariableSet(serverVariable) && !data.isNamed))
    return environment;
  const unsetVariables = Object.entries(files).filter(([name]) => !isVariableSet(name));
  const filePaths = unsetVariables.map(
    ([name, file]) => [name, join(data.directory, file)] as const,
  );
  const missingFile = filePaths.find(([, path]) => !existsSync(path));
  if (!missingFile)
    return {
      ...environment,
      ...Object.fromEntries(filePaths.map(([name, path]) => [`${name}_FILE`, path])),
    };
  const [variable, path] = missingFile;
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
