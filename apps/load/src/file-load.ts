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
 * Result of loading a file: `rejected` if lines were rejected in this run or in a run that this one
 * continues, `broken` for a corrupt gzip file, `stopped` after a signal.
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
  private readonly activeSends = new Set<Promise<void>>();
  private readonly sender: PartSender;
  /** Undefined for the standard input. */
  private progress: ProgressFile | undefined;
  private rejectionFile: Promise<FileHandle> | undefined;
  /** First error of reading or sending. */
  private failure: unknown;

  constructor(
    private readonly path: string,
    private readonly options: LoadOptions,
    client: StreamClient,
    private readonly toUserId: (user: DataUser) => string,
    private readonly stopped: AbortSignal,
    private readonly io: ProgramIo,
  ) {
    this.sender = new PartSender(client, (lines) => this.writeRejections(lines), stopped);
  }

  /**
   * Loads the file.
   *
   * @throws Error if the file cannot be opened or has another format, or if the progress or the
   *   rejected lines cannot be written.
   */
  async run(): Promise<LoadOutcome> {
    const isFile = this.path !== '-';
    const progress = isFile ? await ProgressFile.open(this.path, this.options.progress) : undefined;
    this.progress = progress;
    const start = progress?.reached ?? startOfFile;
    const source: Readable = isFile ? createReadStream(this.path) : this.io.stdin;
    const countBytes = () =>
      isFile
        ? { read: (source as ReturnType<typeof createReadStream>).bytesRead, size: progress?.size }
        : {};
    const currentState = () => ({ ...this.sender.sent, ...this.counts, ...countBytes() });
    const { stderr } = this.io;
    if (start.line > 0) stderr.write(`load: ${this.path}: continuing after line ${start.line}\n`);
    const progressLine = new ProgressLine(stderr, `load: ${this.path}`, (seconds) =>
      describeProgress(currentState(), seconds),
    );
    try {
      await this.sendAll(skipBytes(await decompressFile(source), start.offset), start);
    } catch (error) {
      this.failure ??= error;
    } finally {
      source.destroy();
      await Promise.allSettled(this.activeSends);
      await progress?.save();
      progressLine.end();
      stderr.write(`load: ${this.path}: ${describeResult(currentState(), progressLine.seconds)}\n`);
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

  private async sendAll(stream: AsyncIterable<Buffer>, start: FileOffset): Promise<void> {
    const reader = new PartReader({
      userId: this.toUserId,
      reject: async (rejectedLine) => {
        // A part that a stop or an error interrupted is not reported as incomplete.
        if (!this.stopped.aborted && this.failure === undefined)
          await this.writeRejections([rejectedLine]);
      },
      dropped: () => (this.counts.dropped += 1),
    });
    for await (const completePart of reader.parts(stream, start)) {
      this.startSending(completePart);
      while (this.activeSends.size >= this.options.parallel) await Promise.race(this.activeSends);
      this.stopped.throwIfAborted();
      if (this.failure !== undefined) throw this.failure;
    }
    await Promise.all(this.activeSends);
    if (this.failure === undefined && !reader.isComplete)
      this.io.stderr.write(
        `load: ${this.path}: the last line "complete" is missing: the file can be truncated\n`,
      );
  }

  private startSending({ part, next }: CompletePart): void {
    const { progress } = this;
    const queueEntry = { next, isDone: false };
    this.queue.push(queueEntry);
    const sending = this.sender
      .send(part)
      .then(async () => {
        this.counts.users += 1;
        queueEntry.isDone = true;
        while (this.queue[0]?.isDone) {
          const { next: reached } = this.queue.shift() as typeof queueEntry;
          if (progress) progress.reached = reached;
        }
        await progress?.saveIfDue();
      })
      .catch((error: unknown) => void (this.failure ??= error))
      .finally(() => this.activeSends.delete(sending));
    this.activeSends.add(sending);
  }

  private async writeRejections(rejectedLines: RejectedLine[]): Promise<void> {
    this.counts.rejected += rejectedLines.length;
    if (this.progress) this.progress.rejected += rejectedLines.length;
    const rejectionPath =
      this.options.refused ?? (this.path === '-' ? 'stdin.refused' : `${this.path}.refused`);
    this.rejectionFile ??= open(rejectionPath, 'a', 0o600);
    await (
      await this.rejectionFile
    ).appendFile(rejectedLines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}

async function* skipBytes(stream: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Buffer> {
  let bytesToSkip = offset;
  for await (const chunk of stream) {
    if (bytesToSkip >= chunk.length) bytesToSkip -= chunk.length;
    else {
      yield bytesToSkip > 0 ? chunk.subarray(bytesToSkip) : chunk;
      bytesToSkip = 0;
    }
  }
}
