import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The schema of a variable that lists values, separated by commas. */
export const commaList = z
  .string()
  .transform((list) => list.split(',').map((value) => value.trim()));

/** Returns the schema of a variable that is an integer in a range. */
export const integer = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

/** Thrown if environment variables are missing or invalid. The message names each of them. */
export class ConfigurationError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(
      `The configuration can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigurationError';
  }
}

/**
 * Reads an app's configuration from environment variables, whose names are the keys of `schema`.
 * `NAME_FILE` names a file with the value of `NAME`, for secrets. An empty variable counts as
 * unset.
 *
 * @throws ConfigurationError that lists all problems.
 */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv = process.env,
): z.output<Schema> {
  const problems: string[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = environment[name] || undefined;
    const file = environment[`${name}_FILE`] || undefined;
    if (value !== undefined && file !== undefined)
      problems.push(`${name}: set either ${name} or ${name}_FILE, not both`);
    else if (value !== undefined) values[name] = value;
    else if (file !== undefined) {
      try {
        values[name] = readFileSync(file, 'utf8').trim();
      } catch (error) {
        problems.push(`${name}_FILE: ${(error as Error).message}`);
      }
    }
  }
  const result = schema.safeParse(values);
  const unreadableNames = new Set(problems.map((problem) => problem.split(/_FILE:|:/)[0]));
  for (const issue of result.error?.issues ?? []) {
    const name = String(issue.path[0] ?? '');
    if (!unreadableNames.has(name))
      problems.push(`${name}: ${name in values ? issue.message : 'is required'}`);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return result.data as z.output<Schema>;
}
