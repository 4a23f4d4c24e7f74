import { once } from 'node:events';
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  rmSync,
  type WriteStream,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Entries of one user that are sent together, with their line numbers. */
export interface Chunk<Entry> {
  entries: Entry[];
  lines: number[];
}

const maxBufferedBytes = 4 * 1_024 * 1_024;

/**
 * Queue of one user's chunks, either of subscriptions or of episodes. Chunks beyond
 * {@link maxBufferedBytes} go to a temporary file, so that memory is bounded for any user.
 */
export class ChunkSpool<Entry> {
  private readonly held: Chunk<Entry>[] = [];
  private heldBytes = 0;
  private open: Chunk<Entry> = { entries: [], lines: [] };
  private openBytes = 0;
  private folder: string | undefined;
  private file: WriteStream | undefined;

  constructor(private readonly limits: { entries: number; bytes: number }) {}

  /** Adds an entry. @returns a promise if the caller must wait until the temporary file drains. */
  add(entry: Entry, line: number, bytes: number): Promise<void> | undefined {
    const { entries } = this.open;
    let written: Promise<void> | undefined;
    if (
      entries.length === this.limits.entries ||
      (entries.length > 0 && this.openBytes + bytes > this.limits.bytes)
    )
      written = this.close();
    this.open.entries.push(entry);
    this.open.lines.push(line);
    this.openBytes += bytes;
    return written;
  }

  /** Yields all chunks. Can be called once, after all calls of `add`. */
  async *chunks(): AsyncGenerator<Chunk<Entry>> {
    yield* this.held.splice(0);
    if (this.file && this.folder !== undefined) {
      this.file.end();
      await once(this.file, 'close');
      const lines = createInterface({
        input: createReadStream(this.path(this.folder)),
        crlfDelay: Infinity,
      });
      for await (const line of lines) yield JSON.parse(line) as Chunk<Entry>;
    }
    if (this.open.entries.length > 0) yield this.open;
  }

  dispose(): void {
    this.file?.destroy();
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private close(): Promise<void> | undefined {
    const [chunk, bytes] = [this.open, this.openBytes];
    this.open = { entries: [], lines: [] };
    this.openBytes = 0;
    if (!this.file && this.heldBytes + bytes <= maxBufferedBytes) {
      this.held.push(chunk);
      this.heldBytes += bytes;
      return undefined;
    }
    if (!this.file) {
      this.folder = mkdtempSync(join(tmpdir(), 'podcast-sync-load-'));
      this.file = createWriteStream(this.path(this.folder), { mode: 0o600 });
    }
    // JSON contains no line feeds.
    return this.file.write(`${JSON.stringify(chunk)}\n`)
      ? undefined
      : once(this.file, 'drain').then(() => undefined);
  }

  private path(folder: string): string {
    return join(folder, 'chunks');
  }
}
