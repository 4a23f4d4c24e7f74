import type { Command } from 'commander';
import type { ProgramIo } from '#runtime';

/** Environment variables, each with the file of the data directory that contains its value. */
export type DataFiles = Readonly<Record<string, string>>;

interface CommandContext {
  /** Streams and environment of the command. `env` includes variables from the data directory. */
  readonly io: ProgramIo;
  /** Path of the data directory. */
  readonly data: string;
}

/**
 * A command of `podcast-sync`. Its file imports the implementation only in `run`, so that help and
 * errors of the command line are fast.
 */
export interface CommandDefinition<Input = unknown> {
  readonly name: string;
  /** Summary in one line, for the list of commands. */
  readonly summary: string;
  readonly details?: string;
  /** Example command lines, without `podcast-sync`. */
  readonly examples: readonly string[];
  /** Text for the help about the environment variables. */
  readonly environment?: string;
  /** Exit codes in the help. Default: 0 done, 1 not done. The help adds 2 and 78, common to all. */
  readonly exitCodes?: string;
  /** Data directory of the command. Only with this field, the command has the option `--data`. */
  readonly data?: {
    /** The first variable names the server, such as DATABASE_URL. */
    readonly files?: DataFiles;
    /** A file that the data directory must contain. Without the file, the command fails. */
    readonly required?: string;
  };
  /** Adds the arguments and options of the command. */
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

/** Commands that share their first word, such as `accounts list` and `accounts create`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDefinition[];
}

/** Error for an invalid command line. */
export class UsageError extends Error {}
