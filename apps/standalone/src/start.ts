import { StartError } from '#embedded';
import { loadConfig } from '#runtime';
import { standaloneConfig, type StartOptions } from './standalone.options.js';
import { StandaloneStack } from './standalone.stack.js';
import { welcomeText } from './welcome.text.js';

/** A Ctrl-C under npm arrives twice, from the terminal and from npm: only a later one is another. */
const sameSignalMs = 1_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

/**
 * Runs everything on this machine until a signal stops it, which ends the process.
 *
 * @throws ConfigurationError.
 */
export async function start(options: StartOptions, environment: NodeJS.ProcessEnv): Promise<void> {
  // Bundled, this file is beside the programs that it runs (apps/bundle.mjs).
  const stack = new StandaloneStack(
    { ...options, ...loadConfig(standaloneConfig, environment) },
    say,
    import.meta.dirname,
  );
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

  // A closed terminal is a SIGHUP.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
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
}
