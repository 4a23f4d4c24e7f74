import { findAccount } from '#contracts';
import { AddressGuard, Fetcher } from '#fetch';
import {
  AccountImport,
  AccountWriter,
  openSource,
  SkippedEntries,
  sourceLimits,
  noProgress,
} from '#gpodder-data';
import { connectRedis } from '#redis';
import { formatCount, createLog, loadConfig, type ProgramIo, ProgressLine } from '#runtime';
import { callUntilAvailable, StreamClient } from '#transport';
import { importConfig, type ImportOptions } from './import-options.js';
import { ImportProgressFile } from './import-progress-file.js';
import { readPassword } from './password.js';

/**
 * Imports an account of another server. SIGINT and SIGTERM stop the import. A later run with the
 * same options continues it.
 *
 * @throws Error with a message for operators; ConfigurationError.
 */
export async function importAccount(
  options: ImportOptions,
  { env, stderr }: ProgramIo,
): Promise<void> {
  const config = loadConfig(importConfig, env);
  const password = await readPassword(
    options.passwordFile,
    `Password of ${options.login} at ${options.from.host}: `,
  );
  const log = createLog('import', 'error');
  const services = ['subscription', 'episode', 'account'] as const;
  const client = new StreamClient({ services, connect: () => connectRedis(config), log });
  const stopController = new AbortController();
  const stop = () => stopController.abort(new Error('stopped; run the same command to continue'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    await Promise.race([client.connect(), rejectOnAbort(stopController.signal)]);
    const skipped = new SkippedEntries();
    const credential = { login: options.login, password };
    const source = await openSource(options.from, credential, {
      fetcher: createFetcher(options.from),
      stopped: stopController.signal,
      skipped,
    });
    const userId = await findUser(client, options.user, stopController.signal);
    const writer = new AccountWriter(client, userId, stopController.signal, skipped);
    const progressFile = await ImportProgressFile.open(options, (text) =>
      stderr.write(`import: ${text}\n`),
    );
    stderr.write(`import: the other server has ${source.protocol}\n`);
    if (progressFile.current !== noProgress)
      stderr.write(
        `import: continues after ${formatCount(progressFile.current.actions)} actions\n`,
      );
    const progressLine = new ProgressLine(stderr, 'import', () => describeWritten(writer));
    try {
      await new AccountImport(source, writer, progressFile, stopController.signal).run();
      await progressFile.remove();
    } catch (error) {
      await progressFile.save();
      throw error;
    } finally {
      progressLine.end();
      for (const text of skipped.lines) stderr.write(`import: ${text}\n`);
      stderr.write(`import: ${describeWritten(writer)}\n`);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop);
    await client.close();
  }
}

/** Creates a fetcher that is also allowed to reach this host in a private network. */
function createFetcher({ hostname, port, protocol }: URL): Fetcher {
  const guard = new AddressGuard([`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]);
  return new Fetcher({ userAgent: 'PodcastSync', guard, limits: sourceLimits });
}

/** Returns the id of the account with this name. @throws Error if no account has the name. */
async function findUser(client: StreamClient, name: string, stopped: AbortSignal) {
  const { userId } = await callUntilAvailable(client, findAccount, { name }, { stopped });
  if (userId === null) throw new Error(`no account has the name ${name}: check --user`);
  return userId;
}

/** Returns a text with the numbers of imported and skipped entries. */
function describeWritten({ written, skipped }: AccountWriter): string {
  const { subscriptions, actions, favorites } = written;
  return (
    `${formatCount(subscriptions)} subscriptions, ${formatCount(actions)} actions, ` +
    `${formatCount(favorites)} favourites; ${formatCount(skipped.total)} skipped`
  );
}

/** Returns a promise that rejects when the signal aborts. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );
}
