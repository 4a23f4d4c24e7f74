import { createHash } from 'node:crypto';
import { mostActions } from '#contracts';
import { connectRedis } from '#redis';
import { count, createLog, loadConfig, ProgressLine } from '#runtime';
import { StreamClient } from '#transport';
import { AccountWriter } from './account.writer.js';
import { importConfig } from './import.config.js';
import type { ImportOptions } from './import.options.js';
import { ImportProgress, type Place, start } from './import.progress.js';
import { meet, type OtherServer } from './other.server.js';
import { readPassword } from './password.js';
import { SkippedEntries } from './skipped.entries.js';

/**
 * Imports an account of another server, until the end, SIGINT or SIGTERM.
 *
 * @throws Error with a message for people; ConfigurationError.
 */
export async function importAccount(
  options: ImportOptions,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const config = loadConfig(importConfig, environment);
  const password = await readPassword(
    options.passwordFile,
    `Password of ${options.login} at ${options.from.host}: `,
  );
  const log = createLog('import', 'error');
  const services = ['subscription', 'episode', 'account'] as const;
  const client = new StreamClient({ services, connect: () => connectRedis(config), log });
  const stopped = new AbortController();
  const stop = () => stopped.abort(new Error('stopped; started again it goes on'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    await Promise.race([client.connect(), aborted(stopped.signal)]);
    const skipped = new SkippedEntries();
    const server = await meet(
      options.from,
      { login: options.login, password },
      stopped.signal,
      skipped,
    );
    const writer = await AccountWriter.of(client, options.user, stopped.signal, skipped);
    const progress = await ImportProgress.open(options);
    const { stderr } = process;
    stderr.write(`import: the other server speaks ${server.protocol}\n`);
    if (progress.place !== start)
      stderr.write(`import: going on behind ${count(progress.place.actions)} actions\n`);
    const line = new ProgressLine(stderr, 'import', () => describeWritten(writer));
    try {
      await new Import(server, writer, progress, stopped.signal).run();
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
  const read = `${count(subscriptions)} subscriptions, ${count(actions)} actions, ${count(favorites)} favourites`;
  return `${read}; ${count(skipped.total)} skipped`;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );
}

/** One import. Each run repeats subscriptions and favourites, but not the stored actions. */
class Import {
  constructor(
    private readonly server: OtherServer,
    private readonly writer: AccountWriter,
    private readonly progress: ImportProgress,
    private readonly stopped: AbortSignal,
  ) {}

  async run(): Promise<void> {
    await this.writer.feeds(await this.server.feeds());
    try {
      // Some servers answer in parts, each with the timestamp for the next request.
      for (let last = ''; ;) {
        const { since } = this.progress.place;
        const { timestamp, actions, hash } = await this.answer();
        // A server that repeats its answer ignores the timestamp.
        if (actions === 0 || timestamp <= since || hash === last) break;
        last = hash;
        await this.progress.reached({ since: timestamp, actions: 0, hash: '' });
      }
    } finally {
      await this.progress.save();
    }
    await this.writer.favorites(await this.server.favorites());
    await this.progress.remove();
  }

  /** Writes the new actions of one answer. Returns its timestamp and its progress. */
  private async answer(): Promise<Place & { timestamp: number }> {
    const { since, actions: done, hash } = this.progress.place;
    const seen = createHash('sha256');
    const answer = this.server.actions(since);
    let [actions, batch]: [number, string[]] = [0, []];
    const write = async () => {
      await this.writer.actions(batch.splice(0));
      await this.progress.reached({ since, actions, hash: seen.copy().digest('hex') });
    };
    for (;;) {
      const { value, done: isDone } = await answer.next();
      if (isDone) {
        if (actions < done) return this.again();
        if (batch.length > 0) await write();
        return { timestamp: value, since, actions, hash: seen.digest('hex') };
      }
      this.stopped.throwIfAborted();
      seen.update(value).update('\n');
      actions += 1;
      if (actions > done) batch.push(value);
      if (batch.length === mostActions) await write();
      if (actions === done && seen.copy().digest('hex') !== hash) {
        await answer.return(0);
        return this.again();
      }
    }
  }

  /** Writes all of an answer whose actions or their order have changed. */
  private again(): Promise<Place & { timestamp: number }> {
    this.progress.place = { ...this.progress.place, actions: 0, hash: '' };
    return this.answer();
  }
}
