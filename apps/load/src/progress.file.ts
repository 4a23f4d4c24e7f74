import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { type FileOffset, start } from './line.reader.js';

const stored = z.object({ file: z.string(), offset: z.int().min(0), line: z.int().min(0) });

/** How many bytes at the beginning of a file tell it from another. */
const headBytes = 65_536;
/** The least time between two notes, in milliseconds. */
const saveMs = 1_000;

/** Notes how far a file was loaded. One that is of another file, or of other content, counts as none. */
export class ProgressFile {
  private saved = 0;

  private constructor(
    private readonly path: string,
    private readonly identity: string,
    /** Bytes of the file. */
    readonly size: number,
    /** Where the file goes on behind the last user up to whom all are loaded. */
    public position: FileOffset,
  ) {}

  /** @throws Error where the file can't be read. */
  static async open(file: string, path = `${file}.progress`): Promise<ProgressFile> {
    const { size, mtimeMs } = await stat(file);
    const handle = await open(file);
    const head = Buffer.alloc(headBytes);
    const { bytesRead } = await handle.read(head, 0, headBytes, 0).finally(() => handle.close());
    const hash = createHash('sha256').update(head.subarray(0, bytesRead)).digest('hex');
    const identity = `${size} ${Math.floor(mtimeMs)} ${hash}`;
    const found = stored.safeParse(await readFile(path, 'utf8').then(parsed, () => undefined)).data;
    return new ProgressFile(path, identity, size, found?.file === identity ? found : start);
  }

  async saveNowAndThen(): Promise<void> {
    if (performance.now() - this.saved >= saveMs) await this.save();
  }

  /** Replaces the note as a whole, so that there is always one that can be read. */
  async save(): Promise<void> {
    this.saved = performance.now();
    const { offset, line } = this.position;
    const temporary = `${this.path}.${process.pid}`;
    await writeFile(temporary, JSON.stringify({ file: this.identity, offset, line }), { mode: 0o600 });
    await rename(temporary, this.path);
  }

  /** All is loaded: the next load of the file begins at its start. */
  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
