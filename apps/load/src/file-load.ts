import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { DataUser } from '#contracts';
import { type ProgramIo, ProgressLine } from '#runtime';
import type { StreamClient } from '#transport';
import { type FileOffset, startOfFile, decompressFile } from './line-reader.js';
import type { LoadOptions } from './load-options.js';
import { PartReader } from './part-reader.js';
import { PartSender } from './part-sender.js';
import { ProgressFile } from './progress-file.js';
import { describeProgress, describeResult } from './load-progress.js';
import type { CompletePart, RejectedLine } from './user-part.js';

/**
 * Result of loading a file: `rejected` if this run or an earlier one that it continues rejected
 * lines, `broken` for a corrupt gzip, `stopped` by a signal.
 */
export type LoadOutcome = 'loaded' | 'rejected' | 'broken' | 'stopped';

/**
 * Loads one file. Invariants:
 * - at most `parallel` users are sent concurrently;
 * - the progress file never points past a user with unanswered chunks;
 * - rejected lines are written before the progress file points past them.
 */
export class FileLoad {
  private readonly counts = { users: 0, dropped: 0, rejected: 0 };
  /** Parts in file order, from the first part that is not completely loaded. */
  private readonly queue: { next: FileOffset; isDone: boolean }[] = [];
  private readonly running = new Set<Promise<void>>();
  private readonly sender: PartSender;
  /** Missing for the standard input. */
  private progress: ProgressFile | undefined;
  private rejectionFile: Promise<FileHandle> | undefined;
  private failure: unknown;

  constructor(
    private readonly path: string,
    private readonly options: LoadOptions,
    client: StreamClient,
    private readonly userId: (user: DataUser) => string,
    private readonly stopped: AbortSignal,
    private readonly io: ProgramIo,
  ) {
    this.sender = new PartSender(client, (lines) => this.writeRejections(lines), stopped);
  }

  /**
   * Loads the file. @throws Error if it cannot be opened or has another format, or if the progress
   * or the rejected lines cannot be written.
   */
  async run(): Promise<LoadOutcome> {
    const isFile = this.path !== '-';
    const progress = isFile ? await ProgressFile.open(this.path, this.options.progress) : undefined;
    this.progress = progress;
    const from = progress?.reached ?? startOfFile;
    const source: Readable = isFile ? createReadStream(this.path) : this.io.stdin;
    const done = () =>
      isFile
        ? { read: (source as ReturnType<typeof createReadStream>).bytesRead, size: progress?.size }
        : {};
    const state = () => ({ ...this.sender.sent, ...this.counts, ...done() });
    const { stderr } = this.io;
    if (from.line > 0) stderr.write(`load: ${this.path}: continuing after line ${from.line}\n`);
    const progressLine = new ProgressLine(stderr, `load: ${this.path}`, (seconds) =>
      describeProgress(state(), seconds),
    );
    try {
      await this.sendAll(skipBytes(await decompressFile(source), from.offset), from);
    } catch (error) {
      this.failure ??= error;
    } finally {
      source.destroy();
      await Promise.allSettled(this.running);
      await progress?.save();
      progressLine.end();
      stderr.write(`load: ${this.path}: ${describeResult(state(), progressLine.seconds)}\n`);
      await (await this.rejectionFile)?.close();
    }
    return this.finishLoad();
  }

  private async finishLoad(): Promise<LoadOutcome> {
    const { progress } = this;
    if (this.stopped.aborted) {
      this.io.stderr.write(
        `load: stopped; a later run continues after line ${progress?.reached.line ?? 0}\n`,
      );
      return 'stopped';
    }
    if (this.failure !== undefined) {
      const { code, message } = this.failure as Error & { code?: string };
      if (!code?.startsWith('Z_')) throw this.failure;
      this.io.stderr.write(
        `load: ${this.path}: corrupt gzip (${message}); all users before that place are loaded\n`,
      );
      return 'broken';
    }
    await progress?.remove();
    return (progress ?? this.counts).rejected > 0 ? 'rejected' : 'loaded';
  }

  private async sendAll(stream: AsyncIterable<Buffer>, from: FileOffset): Promise<void> {
    const reader = new PartReader({
      userId: this.userId,
      reject: async (rejectedLine) => {
        // A stop interrupts the reading of a part, which must not be reported as incomplete.
        if (!this.stopped.aborted && this.failure === undefined)
          await this.writeRejections([rejectedLine]);
      },
      dropped: () => (this.counts.dropped += 1),
    });
    for await (const complete of reader.parts(stream, from)) {
      this.startSending(complete);
      while (this.running.size >= this.options.parallel) await Promise.race(this.running);
      this.stopped.throwIfAborted();
      if (this.failure !== undefined) throw this.failure;
    }
    await Promise.all(this.running);
    if (this.failure === undefined && !reader.isComplete)
      this.io.stderr.write(
        `load: ${this.path}: the last line "complete" is missing: the file can be truncated\n`,
      );
  }

  private startSending({ part, next }: CompletePart): void {
    const { progress } = this;
    const place = { next, isDone: false };
    this.queue.push(place);
    const sending = this.sender
      .send(part)
      .then(async () => {
        this.counts.users += 1;
        place.isDone = true;
        while (this.queue[0]?.isDone) {
          const { next: reached } = this.queue.shift() as typeof place;
          if (progress) progress.reached = reached;
        }
        await progress?.saveIfDue();
      })
      .catch((error: unknown) => void (this.failure ??= error))
      .finally(() => this.running.delete(sending));
    this.running.add(sending);
  }

  private async writeRejections(rejectedLines: RejectedLine[]): Promise<void> {
    this.counts.rejected += rejectedLines.length;
    if (this.progress) this.progress.rejected += rejectedLines.length;
    const name =
      this.options.refused ?? (this.path === '-' ? 'stdin.refused' : `${this.path}.refused`);
    this.rejectionFile ??= open(name, 'a', 0o600);
    await (
      await this.rejectionFile
    ).appendFile(rejectedLines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}

async function* skipBytes(stream: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Buffer> {
  let left = offset;
  for await (const chunk of stream) {
    if (left >= chunk.length) left -= chunk.length;
    else {
      yield left > 0 ? chunk.subarray(left) : chunk;
      left = 0;
    }
  }
}
