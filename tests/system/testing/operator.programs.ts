import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { type AppStack, repository } from '#testing';

/** How a program ended. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of operators with these variables alone. */
function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Outcome> {
  return new Promise((resolve) => {
    const path = join(repository, 'dist', 'programs', `${program}.js`);
    execFile(
      process.execPath,
      [path, ...args],
      { env: { PATH: process.env['PATH'], ...env } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

/** Writes what users of a system have into a file. @throws Error when it is not complete. */
export async function dump(stack: AppStack, out: string, ...args: string[]): Promise<Outcome> {
  const outcome = await run('dump', ['--out', out, ...args], { DATABASE_URL: stack.postgres.urls.dump });
  if (outcome.code !== 0) throw new Error(outcome.stderr);
  return outcome;
}

/** Loads a file into a system. @throws Error when anything of it was refused. */
export async function load(stack: AppStack, file: string): Promise<Outcome> {
  const outcome = await run('load', [file], { REDIS_URL: stack.redis.url });
  if (outcome.code !== 0) throw new Error(`${outcome.code}: ${outcome.stderr}`);
  return outcome;
}

/** Erases users of a system. @throws Error when one of them is not. */
export async function erase(stack: AppStack, ...args: string[]): Promise<Outcome> {
  const outcome = await run('erase', args, { DATABASE_URL: stack.postgres.urls.deletion });
  if (outcome.code !== 0) throw new Error(`${outcome.code}: ${outcome.stderr}`);
  return outcome;
}
