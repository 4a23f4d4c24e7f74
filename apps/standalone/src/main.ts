import { ConfigurationError } from '#runtime';
import { StartError } from '#embedded';
import { readOptions, UsageError } from './standalone.options.js';
import { StandaloneStack } from './standalone.stack.js';
import { welcomeText } from './welcome.text.js';

/** A Ctrl-C under npm arrives twice, from the terminal and from npm: only a later one is another. */
const sameSignalMs = 1_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

// Bundled, this file is beside the programs that it runs (apps/bundle.mjs).
const stack = new StandaloneStack(optionsOrExit(), say, import.meta.dirname);
let stopping: number | undefined;

async function stop(exitCode: number): Promise<void> {
  if (stopping === undefined) {
    stopping = performance.now();
    say('Stopping ...');
    await stack.stop();
    say('Stopped.');
    process.exit(exitCode);
  } else if (performance.now() - stopping > sameSignalMs) {
    say('Stopping by force ...');
    stack.force();
  }
}

process.on('SIGINT', () => void stop(0));
process.on('SIGTERM', () => void stop(0));
// A closed terminal.
process.on('SIGHUP', () => void stop(0));
// Whoever started this process by `fork` is gone.
process.on('disconnect', () => void stop(0));
// Output that nobody reads any more must not end the supervisor before its children.
process.stdout.on('error', () => {});

try {
  const welcome = await stack.start();
  say(welcomeText(welcome));
  process.send?.({ ready: true, facts: { ...welcome } });
} catch (error) {
  if (stopping === undefined) {
    process.stderr.write(`${error instanceof StartError ? error.message : String((error as Error).stack)}\n`);
    await stop(1);
  }
}

/** Exit codes: 2 for a command line that can't be understood, 78 (EX_CONFIG) for variables, as with every app. */
function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(error instanceof UsageError ? 2 : 78);
  }
}
