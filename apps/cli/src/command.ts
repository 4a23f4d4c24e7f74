import type { Command } from 'commander';
import type { ProgramIo } from '#runtime';

/** Variables by file of a data directory with its running system; the server comes first. */
export type DataFiles = Readonly<Record<string, string>>;

interface CommandContext {
  /** Includes the variables from the data directory. */
  readonly io: ProgramIo;
  readonly data: string;
}

/** A command of `podcast-sync`. Its file imports the implementation only in `run`: help is fast. */
export interface CommandDefinition<Input = unknown> {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly details?: string;
  /** Command lines without `podcast-sync`. */
  readonly examples: readonly string[];
  readonly environment?: string;
  /** Default: 0 done, 1 not done. The codes 2 and 78 are the same for all commands. */
  readonly exitCodes?: string;
  /** Set if the command has the option `--data`. */
  readonly data?: {
    readonly files?: DataFiles;
  };
  declare?(command: Command): void;
  /**
   * Returns the input from the command line. Default: the options.
   *
   * @throws UsageError if options and operands contradict each other.
   */
  read?(options: object, operands: readonly string[]): Input | Promise<Input>;
  /** Runs the command. @returns the exit code, by default 0. @throws Error for the operator. */
  run(input: Input, context: CommandContext): Promise<number | void>;
}

/** Several commands under one name. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDefinition[];
}

/** The command line is invalid. */
export class UsageError extends Error {}
