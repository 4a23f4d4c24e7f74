import type { Readable, Writable } from 'node:stream';

/** Environment, input and output of a program: those of `process`, or given by a caller. */
export interface ProgramIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** Thrown if a valid command cannot be executed. The message is for the operator. */
export class CommandFailed extends Error {}
