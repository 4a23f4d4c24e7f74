import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ProgramIo } from '#runtime';
import { repository } from './launched-system.js';

/** Exit code and output of a command-line program. */
export interface ProgramOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the function of a command-line program in this process, with exactly these variables. */
export async function callProgram(
  run: (args: readonly string[], io: ProgramIo) => Promise<number>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProgramOutcome> {
  const io = {
    env,
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  };
  const output = Promise.all([text(io.stdout), text(io.stderr)]);
  const code = await run(args, io);
  for (const stream of [io.stdout, io.stderr]) stream.end();
  const [stdout, stderr] = await output;
  return { code, stdout, stderr };
}

/** Runs a built command-line program with only PATH and `env`, and waits for its end. */
export function startProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProgramOutcome> {
  const path = join(repository, 'dist', 'programs', `${program}.js`);
  const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 2 ** 28 };
  return new Promise((resolve) =>
    execFile(process.execPath, [path, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  );
}
