import { callProgram, type ProgramOutcome } from '#testing';
import type { ProgramIo } from '#runtime';
import { runErase } from '../../../apps/deletion-worker/src/operator/erase.program.js';
import { runDump } from '../../../apps/dump/src/dump.program.js';
import { runLoad } from '../../../apps/load/src/load.program.js';

/** A system that operators work on. */
export interface OperatedSystem {
  readonly postgres: { readonly urls: { readonly dump: string; readonly deletion: string } };
  readonly redis: { readonly url: string };
}

/** Runs an operators' program in this process. @throws Error when it does not end with code 0. */
async function succeed(
  run: (args: readonly string[], io: ProgramIo) => Promise<number>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProgramOutcome> {
  const outcome = await callProgram(run, args, env);
  if (outcome.code !== 0) throw new Error(`${outcome.code}: ${outcome.stderr}`);
  return outcome;
}

/** Writes what users of a system have into a file. */
export const dump = ({ postgres }: OperatedSystem, out: string, ...args: string[]) =>
  succeed(runDump, ['--out', out, ...args], { DATABASE_URL: postgres.urls.dump });

/** Loads a file into a system. */
export const load = ({ redis }: OperatedSystem, file: string) => succeed(runLoad, [file], { REDIS_URL: redis.url });

/** Erases users of a system. */
export const erase = ({ postgres }: OperatedSystem, ...args: string[]) =>
  succeed(runErase, args, { DATABASE_URL: postgres.urls.deletion });
