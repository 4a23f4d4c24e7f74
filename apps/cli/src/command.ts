import type { Command } from 'commander';
import type { ProgramIo } from '#runtime';

/** Files of a data directory that name its running system: the variable that each one stands for, the server first. */
export type DataFiles = Readonly<Record<string, string>>;

/** What a command is given besides its input. */
interface CommandContext {
  /** The variables include those that the data directory says. */
  readonly io: ProgramIo;
  /** The data directory. */
  readonly data: string;
}

/**
 * A command of `podcast-sync`. Its file imports what carries it out in `run` alone, so that help is printed without it.
 */
export interface CommandDefinition<Input = unknown> {
  readonly name: string;
  /** One line, as the list of commands shows it. */
  readonly summary: string;
  /** What else a person needs to know. */
  readonly details?: string;
  /** Command lines without `podcast-sync`. */
  readonly examples: readonly string[];
  readonly environment?: string;
  /** By default 0 done, 1 not done; 2 and 78 are the same everywhere. */
  readonly exitCodes?: string;
  /** Set where it takes `--data`. */
  readonly data?: {
    readonly files?: DataFiles;
  };
  /** Declares operands and options. */
  declare?(command: Command): void;
  /**
   * What the command line asks for. By default the options.
   *
   * @throws UsageError when options and operands contradict each other.
   */
  read?(options: object, operands: readonly string[]): Input | Promise<Input>;
  /** Carries it out. @returns the exit code, by default 0. @throws Error with what a person needs to know. */
  run(input: Input, context: CommandContext): Promise<number | void>;
}

/** Several commands under one name. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandDefinition[];
}

/** The command line can't be understood. */
export class UsageError extends Error {}
