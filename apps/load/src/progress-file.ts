import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { parseJson } from '#runtime';
import { z } from 'zod';
import { type FileOffset, startOfFile } from './line-reader.js';

const progressSchema = z.object({
  file: z.string(),
  offset: z.int().min(0),
  line: z.int().min(0),
  // Progress files of 0.2.0 lack this field.
  rejected: z.int().min(0).default(0),
});

/** Number of hashed bytes. The hash, the size and the time of change identify a file. */
const hashedBytes = 65_536;
/** Shortest interval between two writes, in milliseconds. */
const saveIntervalMs = 1_000;

/** Stores the progress of a load. The progress of another file or other content is ignored. */
export class ProgressFile {
  /** Time of the last write, by `performance.now()`. */
  private savedAtMs = 0;

  private constructor(
    private readonly path: string,
    private readonly identity: string,
    readonly size: number,
    /** Offset before which all users are loaded. A later run continues there. */
    public reached: FileOffset,
    /** Number of lines that this run and earlier ones rejected. */
    public rejected: number,
  ) {}

  /** Opens the progress of a file. @throws Error if the file cannot be read. */
  static async open(file: string, path = `${file}.progress`): Promise<ProgressFile> {
    const { size, mtimeMs } = await stat(file);
    const fileHandle = await open(file);
    const head = Buffer.alloc(hashedBytes);
    const { bytesRead } = await fileHandle
      .read(head, 0, hashedBytes, 0)
      .finally(() => fileHandle.close());
    const hash = createHash('sha256').update(head.subarray(0, bytesRead)).digest('hex');
    const identity = `${size} ${Math.floor(mtimeMs)} ${hash}`;
    const storedProgress = progressSchema.safeParse(
      await readFile(path, 'utf8').then(parseJson, () => undefined),
    ).data;
    const progress =
      storedProgress?.file === identity ? storedProgress : { ...startOfFile, rejected: 0 };
    return new ProgressFile(path, identity, size, progress, progress.rejected);
  }

  /** Saves the progress, unless it was saved within the last second. */
  async saveIfDue(): Promise<void> {
    if (performance.now() - this.savedAtMs >= saveIntervalMs) await this.save();
  }

  async save(): Promise<void> {
    this.savedAtMs = performance.now();
    const { identity: file, rejected } = this;
    const { offset, line } = this.reached;
    const temporaryFile = `${this.path}.${process.pid}`;
    await writeFile(temporaryFile, JSON.stringify({ file, offset, line, rejected }), {
      mode: 0o600,
    });
    await rename(temporaryFile, this.path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}
