import { StartError } from '#embedded';
import { ConfigurationError, loadConfig } from '#runtime';
import { standaloneConfig, type StartOptions } from './standalone-options.js';
import { StandaloneStack } from './standalone-stack.js';
import { welcomeText } from './welcome-text.js';

/** Milliseconds in which a second signal has no effect, because npm repeats a Ctrl-C. */
const sameSignalMs = 1_000;

const printLine = (line: string) => process.stdout.write(`${line}\n`);

/** Runs all parts on this machine until a signal ends the process. @throws ConfigurationError */
export async function startStandalone(
  options: StartOptions,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const stack = new StandaloneStack(
    { ...options, ...loadConfig(standaloneConfig, environment) },
    printLine,
    // The folder of the apps' programs, because this file is bundled with them (apps/bundle.mjs).
    import.meta.dirname,
  );
  let stopStartMs: number | undefined;

  async function stop(exitCode: number): Promise<void> {
    if (stopStartMs === undefined) {
      stopStartMs = performance.now();
      printLine('Stopping ...');
      await stack.stop();
      printLine('Stopped.');
      process.exit(exitCode);
    } else if (performance.now() - stopStartMs > sameSignalMs) {
      printLine('Killing the remaining processes ...');
      stack.killApps();
    }
  }

  // SIGHUP is the signal of a closed terminal.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void stop(0));
  // Stops when the parent process that forked this one has ended.
  process.on('disconnect', () => void stop(0));
  // Ignores a closed output. Its error would end the supervisor before its children.
  process.stdout.on('error', () => {});

  try {
    const welcome = await stack.start();
    printLine(welcomeText(welcome, process.stdout.isTTY));
    process.send?.({ ready: true, facts: { ...welcome } });
  } catch (error) {
    if (stopStartMs === undefined) {
      const isConfigurationError = error instanceof ConfigurationError;
      const hasOperatorMessage = isConfigurationError || error instanceof StartError;
      process.stderr.write(
        `${hasOperatorMessage ? error.message : String((error as Error).stack)}\n`,
      );
      await stop(isConfigurationError ? 78 : 1);
    }
  }
}
