import { existsSync, readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import type { ProgramIo } from '#runtime';
import { type CommandDefinition, type CommandGroup, UsageError } from './command.js';
import { commands } from './commands.js';
import { dataEnvironment, MissingDataFileError, requireDataFile } from './data-environment.js';
import { parseNotEmpty } from './operands.js';

interface ReadCommand {
  readonly definition: CommandDefinition;
  readonly name: string;
  readonly input: unknown;
  readonly data: string | undefined;
}

/** The default data directory, relative to the working directory. */
const defaultData = '.data';

const exitCodeOf = { failed: 1, usage: 2, configuration: 78 } as const;

/**
 * Runs a command line of `podcast-sync`. Each failure is printed to the standard error, after the
 * name of the command.
 *
 * @returns the exit code: 2 for an invalid command line, 78 (EX_CONFIG) for unusable environment
 * variables, otherwise the code that the command returns, or 1 if it throws.
 */
export async function podcastSync(args: readonly string[], io: ProgramIo): Promise<number> {
  const read = await readCommandLine(args, io);
  if (typeof read === 'number') return read;
  const { definition, name, input, data } = read;
  try {
    return (await definition.run(input, commandContext(definition, data, io))) ?? 0;
  } catch (error) {
    const { message, name: kind } = error as Error;
    io.stderr.write(`${name}: ${message}\n`);
    // Compares the error by name: importing its class would load libraries that help never needs.
    if (kind !== 'ConfigurationError' && !(error instanceof MissingDataFileError))
      return exitCodeOf.failed;
    io.stderr.write(`See: podcast-sync ${name} --help\n`);
    return exitCodeOf.configuration;
  }
}

/**
 * Parses a command line, and prints requested help.
 *
 * @returns the command to run, or the exit code after help or an invalid command line.
 */
export async function readCommandLine(
  args: readonly string[],
  io: ProgramIo,
): Promise<ReadCommand | number> {
  let read: ReadCommand | undefined;
  const program = new Command('podcast-sync')
    .description('Runs and operates Podcast Sync.')
    .version(readVersion(), '-V, --version', 'prints the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
    .addHelpText(
      'after',
      '\nExample:\n  podcast-sync start\n\npodcast-sync COMMAND --help describes a command.',
    );
  reportErrors(program);
  for (const one of commands) addCommand(program, one, (found) => (read = found));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodeOf.usage;
    throw error;
  }
  return read ?? exitCodeOf.usage;
}

/** Returns the version in the package.json of the build, or of the sources if tests run them. */
function readVersion(): string {
  const file = ['../../package.json', '../../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  if (!file) throw new Error('package.json is missing: install this version again');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function addCommand(
  parent: Command,
  one: CommandDefinition | CommandGroup,
  done: (read: ReadCommand) => void,
): void {
  const command = parent.command(one.name).summary(one.summary);
  reportErrors(command);
  if ('commands' in one) {
    const [example] = one.commands.flatMap(({ examples }) => examples);
    command
      .description(toSentence(one.summary))
      .addHelpText('after', `\nExample:\n  podcast-sync ${example}`);
    for (const inner of one.commands) addCommand(command, inner, done);
    return;
  }
  one.declare?.(command);
  if (one.data)
    command.option(
      '--data <DIR>',
      `data directory of podcast-sync start (default: ${defaultData})`,
      parseNotEmpty,
    );
  command.description([toSentence(one.summary), one.details].filter(Boolean).join('\n'));
  command.addHelpText('after', formatHelpAfterOptions(one));
  command.action(async () => {
    const { data, ...options } = command.opts<{ data?: string }>();
    const operands = (command.processedArgs as (string | string[] | undefined)[])
      .flat()
      .filter((operand) => operand !== undefined);
    try {
      const input = one.read ? await one.read(options, operands) : options;
      done({ definition: one, name: messagePrefix(command), input, data });
    } catch (error) {
      if (error instanceof UsageError) command.error(error.message);
      throw error;
    }
  });
}

/** Prints errors after the name of the command, with a pointer to its help. */
function reportErrors(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      const path = commandPath(command).join(' ');
      const message = text.replace(/^error: /, '').trimEnd();
      write(`${messagePrefix(command)}: ${message}\nSee: ${path} --help\n`);
    },
  });
}

function commandPath(command: Command): string[] {
  return [...(command.parent ? commandPath(command.parent) : []), command.name()];
}

/** Returns the prefix of messages: the name of the command's group, or of the command itself. */
function messagePrefix(command: Command): string {
  const [program = '', name = program] = commandPath(command);
  return name;
}

function toSentence(summary: string): string {
  return `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
}

function formatHelpAfterOptions({
  examples,
  environment,
  exitCodes = '0 done, 1 not done',
  data,
}: CommandDefinition): string {
  const [server] = Object.keys(data?.files ?? {});
  const found =
    server &&
    `Without ${server}, the command uses the system that podcast-sync start runs on --data.`;
  return [
    '',
    `Example${examples.length > 1 ? 's' : ''}:`,
    ...examples.map((example) => `  podcast-sync ${example}`),
    ...(environment ? ['', `Environment: ${environment}`] : []),
    ...(found ? [found] : []),
    '',
    `Exit codes: ${exitCodes}, 2 invalid command line, 78 invalid environment.`,
  ].join('\n');
}

function commandContext(
  { data: declared }: CommandDefinition,
  data: string | undefined,
  io: ProgramIo,
) {
  const directory = data ?? defaultData;
  const { files, required } = declared ?? {};
  if (required !== undefined) requireDataFile(directory, required);
  if (!files) return { io, data: directory };
  const env = dataEnvironment(io.env, files, { directory, isNamed: data !== undefined });
  const { stdin, stdout, stderr } = io;
  return { io: { env, stdin, stdout, stderr }, data: directory };
}
