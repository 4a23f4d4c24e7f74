import { existsSync, readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import type { ProgramIo } from '#runtime';
import { type CommandDefinition, type CommandGroup, UsageError } from './command.js';
import { commands } from './commands.js';
import { dataEnvironment, MissingDataFileError, requireDataFile } from './data-environment.js';
import { parseNotEmpty } from './operands.js';

interface ParsedCommand {
  readonly definition: CommandDefinition;
  readonly name: string;
  readonly input: unknown;
  readonly data: string | undefined;
}

/** The default data directory, relative to the working directory. */
const defaultDataDirectory = '.data';

const exitCodeByReason = { failed: 1, usage: 2, configuration: 78 } as const;

/**
 * Runs a command line of `podcast-sync`. Each failure is printed to the standard error, after the
 * name of the command.
 *
 * @returns the exit code: 2 for an invalid command line, 78 (EX_CONFIG) for unusable environment
 * variables, otherwise the code that the command returns, or 1 if it throws.
 */
export async function podcastSync(args: readonly string[], io: ProgramIo): Promise<number> {
  const parsed = await readCommandLine(args, io);
  if (typeof parsed === 'number') return parsed;
  const { definition, name, input, data } = parsed;
  try {
    return (await definition.run(input, createContext(definition, data, io))) ?? 0;
  } catch (error) {
    const { message, name: errorName } = error as Error;
    io.stderr.write(`${name}: ${message}\n`);
    // Compares the name, because the class of the error imports libraries that help never needs.
    if (errorName !== 'ConfigurationError' && !(error instanceof MissingDataFileError))
      return exitCodeByReason.failed;
    io.stderr.write(`See: podcast-sync ${name} --help\n`);
    return exitCodeByReason.configuration;
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
): Promise<ParsedCommand | number> {
  let parsed: ParsedCommand | undefined;
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
  configureErrorOutput(program);
  for (const definition of commands)
    addCommand(program, definition, (command) => (parsed = command));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodeByReason.usage;
    throw error;
  }
  return parsed ?? exitCodeByReason.usage;
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
  definition: CommandDefinition | CommandGroup,
  onParsed: (parsed: ParsedCommand) => void,
): void {
  const command = parent.command(definition.name).summary(definition.summary);
  configureErrorOutput(command);
  if ('commands' in definition) {
    const [example] = definition.commands.flatMap(({ examples }) => examples);
    command
      .description(toSentence(definition.summary))
      .addHelpText('after', `\nExample:\n  podcast-sync ${example}`);
    for (const subcommand of definition.commands) addCommand(command, subcommand, onParsed);
    return;
  }
  definition.declare?.(command);
  if (definition.data)
    command.option(
      '--data <DIR>',
      `data directory of podcast-sync start (default: ${defaultDataDirectory})`,
      parseNotEmpty,
    );
  command.description(
    [toSentence(definition.summary), definition.details].filter(Boolean).join('\n'),
  );
  command.addHelpText('after', formatHelpAfterOptions(definition));
  command.action(async () => {
    const { data, ...options } = command.opts<{ data?: string }>();
    const operands = (command.processedArgs as (string | string[] | undefined)[])
      .flat()
      .filter((operand) => operand !== undefined);
    try {
      const input = definition.read ? await definition.read(options, operands) : options;
      onParsed({ definition, name: findMessagePrefix(command), input, data });
    } catch (error) {
      if (error instanceof UsageError) command.error(error.message);
      throw error;
    }
  });
}

/** Makes a command print its errors after its name, with a pointer to its help. */
function configureErrorOutput(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      const path = buildCommandPath(command).join(' ');
      const message = text.replace(/^error: /, '').trimEnd();
      write(`${findMessagePrefix(command)}: ${message}\nSee: ${path} --help\n`);
    },
  });
}

function buildCommandPath(command: Command): string[] {
  return [...(command.parent ? buildCommandPath(command.parent) : []), command.name()];
}

/** Returns the prefix of messages: the name of the command's group, or of the command itself. */
function findMessagePrefix(command: Command): string {
  const [program = '', name = program] = buildCommandPath(command);
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
  const [serverVariable] = Object.keys(data?.files ?? {});
  const dataNote =
    serverVariable &&
    `Without ${serverVariable}, the command uses the system ` +
      'that podcast-sync start runs on --data.';
  return [
    '',
    `Example${examples.length > 1 ? 's' : ''}:`,
    ...examples.map((example) => `  podcast-sync ${example}`),
    ...(environment ? ['', `Environment: ${environment}`] : []),
    ...(dataNote ? [dataNote] : []),
    '',
    `Exit codes: ${exitCodes}, 2 invalid command line, 78 invalid environment.`,
  ].join('\n');
}

function createContext(
  { data: declared }: CommandDefinition,
  data: string | undefined,
  io: ProgramIo,
) {
  const directory = data ?? defaultDataDirectory;
  const { files, required } = declared ?? {};
  if (required !== undefined) requireDataFile(directory, required);
  if (!files) return { io, data: directory };
  const env = dataEnvironment(io.env, files, { directory, isNamed: data !== undefined });
  const { stdin, stdout, stderr } = io;
  return { io: { env, stdin, stdout, stderr }, data: directory };
}
