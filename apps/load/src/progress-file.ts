import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { parseJson } from '#runtime';
import { z } from 'zod';
import { type FileOffset, startOfFile } from './line-reader.js';

const progressSchema = z.object({
  file: z.string(),
  offset: z.int().min(0),
  line: z.int().min(0),
  // Progress files of 0.2.0 do not have it.
  rejected: z.int().min(0).default(0),
});

/** Bytes at the start of a file. Their hash, its size and its time of change identify the file. */
const headBytes = 65_536;
/** Shortest interval between two writes, in milliseconds. */
const saveMs = 1_000;

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
    const handle = await open(file);
    const head = Buffer.alloc(headBytes);
    const { bytesRead } = await handle.read(head, 0, headBytes, 0).finally(() => handle.close());
    const hash = createHash('sha256').update(head.subarray(0, bytesRead)).digest('hex');
    const identity = `${size} ${Math.floor(mtimeMs)} ${hash}`;
    const found = progressSchema.safeParse(
      await readFile(path, 'utf8').then(parseJson, () => undefined),
    ).data;
    const progress = found?.file === identity ? found : { ...startOfFile, rejected: 0 };
    return new ProgressFile(path, identity, size, progress, progress.rejected);
  }

  /** Saves the progress, unless it was saved within the last second. */
  async saveIfDue(): Promise<void> {
    if (performance.now() - this.savedAtMs >= saveMs) await this.save();
  }

  async save(): Promise<void> {
    this.savedAtMs = performance.now();
    const { identity: file, rejected } = this;
    const { offset, line } = this.reached;
    const temporary = `${this.path}.${process.pid}`;
    await writeFile(temporary, JSON.stringify({ file, offset, line, rejected }), { mode: 0o600 });
    await rename(temporary, this.path);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}
