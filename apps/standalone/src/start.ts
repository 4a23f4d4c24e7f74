import { StartError } from '#embedded';
import { ConfigurationError, loadConfig } from '#runtime';
import { standaloneConfig, type StartOptions } from './standalone-options.js';
import { StandaloneStack } from './standalone-stack.js';
import { welcomeText } from './welcome-text.js';

/** Milliseconds in which a second signal counts as the first one: npm repeats a Ctrl-C. */
const sameSignalMs = 1_000;

const printLine = (line: string) => process.stdout.write(`${line}\n`);

/** Runs all parts on this machine until a signal ends the process. @throws ConfigurationError */
export async function startStandalone(
  options: StartOptions,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  // The bundled code of this file is in the folder of the apps' programs (apps/bundle.mjs).
  const stack = new StandaloneStack(
    { ...options, ...loadConfig(standaloneConfig, environment) },
    printLine,
    import.meta.dirname,
  );
  let stopping: number | undefined;

  async function stop(exitCode: number): Promise<void> {
    if (stopping === undefined) {
      stopping = performance.now();
      printLine('Stopping ...');
      await stack.stop();
      printLine('Stopped.');
      process.exit(exitCode);
    } else if (performance.now() - stopping > sameSignalMs) {
      printLine('Killing the remaining processes ...');
      stack.killApps();
    }
  }

  // SIGHUP is the signal of a closed terminal.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void stop(0));
  // Stops when the parent process that forked this one has ended.
  process.on('disconnect', () => void stop(0));
  // Ignores a closed output, which must not end the supervisor before its children.
  process.stdout.on('error', () => {});

  try {
    const welcome = await stack.start();
    printLine(welcomeText(welcome, process.stdout.isTTY));
    process.send?.({ ready: true, facts: { ...welcome } });
  } catch (error) {
    if (stopping === undefined) {
      const isConfiguration = error instanceof ConfigurationError;
      const isExplained = isConfiguration || error instanceof StartError;
      process.stderr.write(`${isExplained ? error.message : String((error as Error).stack)}\n`);
      await stop(isConfiguration ? 78 : 1);
    }
  }
}
