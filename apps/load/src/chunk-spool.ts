import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Entries of one user that are sent together, with their line numbers. */
export interface Chunk<Entry> {
  entries: Entry[];
  lines: number[];
}

const maxBufferedBytes = 4 * 1_024 * 1_024;

/**
 * Queue of one user's chunks, either of subscriptions or of episodes. Chunks beyond
 * {@link maxBufferedBytes} go to a temporary file, so that memory is bounded for any user. The file
 * is written synchronously, so that a chunk leaves memory before the next entry is read. It is read
 * one chunk at a time.
 */
export class ChunkSpool<Entry> {
  private readonly buffered: Chunk<Entry>[] = [];
  private bufferedBytes = 0;
  private open: Chunk<Entry> = { entries: [], lines: [] };
  private openBytes = 0;
  /** The folder of the temporary file, once it exists. */
  private folder: string | undefined;
  /** Bytes of each chunk in the temporary file. */
  private readonly storedBytes: number[] = [];

  constructor(private readonly limits: { entries: number; bytes: number }) {}

  add(entry: Entry, line: number, bytes: number): void {
    const { length } = this.open.entries;
    const isFull = length > 0 && this.openBytes + bytes > this.limits.bytes;
    if (length === this.limits.entries || isFull) this.close();
    this.open.entries.push(entry);
    this.open.lines.push(line);
    this.openBytes += bytes;
  }

  /** Yields all chunks. Can be called once, after all calls of `add`. */
  async *chunks(): AsyncGenerator<Chunk<Entry>> {
    yield* this.buffered.splice(0);
    if (this.folder !== undefined) {
      const file = await open(fileIn(this.folder));
      try {
        // Reads no chunk ahead: a stream of lines would buffer many of up to a megabyte each.
        for (const bytes of this.storedBytes)
          yield JSON.parse(await readText(file, bytes)) as Chunk<Entry>;
      } finally {
        await file.close();
      }
    }
    if (this.open.entries.length > 0) yield this.open;
  }

  dispose(): void {
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private close(): void {
    const [chunk, bytes] = [this.open, this.openBytes];
    this.open = { entries: [], lines: [] };
    this.openBytes = 0;
    if (this.folder === undefined && this.bufferedBytes + bytes <= maxBufferedBytes) {
      this.buffered.push(chunk);
      this.bufferedBytes += bytes;
      return;
    }
    this.folder ??= mkdtempSync(join(tmpdir(), 'podcast-sync-load-'));
    const stored = Buffer.from(JSON.stringify(chunk));
    appendFileSync(fileIn(this.folder), stored, { mode: 0o600 });
    this.storedBytes.push(stored.length);
  }
}

function fileIn(folder: string): string {
  return join(folder, 'chunks');
}

/** Reads the next bytes of a file as text. @throws Error if the file has fewer. */
async function readText(file: FileHandle, bytes: number): Promise<string> {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let filled = 0; filled < bytes;) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled);
    if (bytesRead === 0) throw new Error('the temporary file of a user is truncated');
    filled += bytesRead;
  }
  return buffer.toString();
}
