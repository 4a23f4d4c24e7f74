import { createHash } from 'node:crypto';
import { maxActions } from '#contracts';
import { connectRedis } from '#redis';
import { count, createLog, loadConfig, type ProgramIo, ProgressLine } from '#runtime';
import { StreamClient } from '#transport';
import { AccountWriter } from './account.writer.js';
import { importConfig } from './import.config.js';
import type { ImportOptions } from './import.options.js';
import { type ImportCursor, ImportProgress, startCursor } from './import.progress.js';
import { openSource, type SourceServer } from './source.server.js';
import { readPassword } from './password.js';
import { SkippedEntries } from './skipped.entries.js';

/**
 * Imports an account of another server. SIGINT and SIGTERM stop it; a later run continues.
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
  const stopped = new AbortController();
  const stop = () => stopped.abort(new Error('stopped; run the same command to continue'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    await Promise.race([client.connect(), aborted(stopped.signal)]);
    const skipped = new SkippedEntries();
    const credential = { login: options.login, password };
    const source = await openSource(options.from, credential, stopped.signal, skipped);
    const writer = await AccountWriter.open(client, options.user, stopped.signal, skipped);
    const progress = await ImportProgress.open(options, (text) =>
      stderr.write(`import: ${text}\n`),
    );
    stderr.write(`import: the other server has ${source.protocol}\n`);
    if (progress.cursor !== startCursor)
      stderr.write(`import: continues after ${count(progress.cursor.actions)} actions\n`);
    const line = new ProgressLine(stderr, 'import', () => describeWritten(writer));
    try {
      await new Import(source, writer, progress, stopped.signal).run();
    } finally {
      line.end();
      for (const text of skipped.lines) stderr.write(`import: ${text}\n`);
      stderr.write(`import: ${describeWritten(writer)}\n`);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop);
    await client.close();
  }
}

function describeWritten({ written, skipped }: AccountWriter): string {
  const { subscriptions, actions, favorites } = written;
  return (
    `${count(subscriptions)} subscriptions, ${count(actions)} actions, ` +
    `${count(favorites)} favourites; ${count(skipped.total)} skipped`
  );
}

/** Rejects when a signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );
}

/**
 * Runs one import. A run that continues an interrupted import writes all subscriptions and
 * favourites again, but only the remaining actions.
 */
class Import {
  constructor(
    private readonly source: SourceServer,
    private readonly writer: AccountWriter,
    private readonly progress: ImportProgress,
    private readonly stopped: AbortSignal,
  ) {}

  async run(): Promise<void> {
    await this.writer.writeFeeds(await this.source.readFeeds());
    try {
      // Some servers answer in parts, each with the timestamp for the next request.
      for (let lastHash = ''; ;) {
        const { since } = this.progress.cursor;
        const { timestamp, actions, hash } = await this.writeAnswer();
        // A server that repeats its answer ignores the timestamp.
        if (actions === 0 || timestamp <= since || hash === lastHash) break;
        lastHash = hash;
        await this.progress.moveTo({ since: timestamp, actions: 0, hash: '' });
      }
    } finally {
      await this.progress.save();
    }
    await this.writer.writeFavorites(await this.source.readFavorites());
    await this.progress.remove();
  }

  /** Writes the new actions of one answer. Returns its timestamp and its cursor. */
  private async writeAnswer(): Promise<ImportCursor & { timestamp: number }> {
    const { since, actions: written, hash: writtenHash } = this.progress.cursor;
    const hash = createHash('sha256');
    const answer = this.source.readActions(since);
    let [actions, batch]: [number, string[]] = [0, []];
    const write = async () => {
      await this.writer.writeActions(batch.splice(0));
      await this.progress.moveTo({ since, actions, hash: hash.copy().digest('hex') });
    };
    for (;;) {
      const { value, done } = await answer.next();
      if (done) {
        if (actions < written) return this.rewriteAnswer();
        if (batch.length > 0) await write();
        return { timestamp: value, since, actions, hash: hash.digest('hex') };
      }
      this.stopped.throwIfAborted();
      hash.update(value).update('\n');
      actions += 1;
      if (actions > written) batch.push(value);
      if (batch.length === maxActions) await write();
      if (actions === written && hash.copy().digest('hex') !== writtenHash) {
        await answer.return(0);
        return this.rewriteAnswer();
      }
    }
  }

  /** Writes an answer from its start, because its written actions or their order have changed. */
  private rewriteAnswer(): Promise<ImportCursor & { timestamp: number }> {
    this.progress.cursor = { ...this.progress.cursor, actions: 0, hash: '' };
    return this.writeAnswer();
  }
}
