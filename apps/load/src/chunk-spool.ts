import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Entries of one user that are sent together, with their line numbers. */
export interface Chunk<Entry> {
  entries: Entry[];
  lines: number[];
}

/** Maximum bytes of the chunks in memory. Further chunks go to a temporary file. */
const maxBufferedBytes = 4 * 1_024 * 1_024;

/**
 * Queue of one user's chunks, either of subscriptions or of episodes. Memory is bounded:
 * - chunks beyond {@link maxBufferedBytes} go to a temporary file;
 * - writes are synchronous, so a chunk leaves memory before the next entry is read;
 * - one chunk of the file is read at a time.
 */
export class ChunkSpool<Entry> {
  private readonly bufferedChunks: Chunk<Entry>[] = [];
  private bufferedBytes = 0;
  private openChunk: Chunk<Entry> = { entries: [], lines: [] };
  private openChunkBytes = 0;
  /** Folder of the temporary file. Undefined until a chunk is written. */
  private folder: string | undefined;
  /** Length in bytes of each chunk in the temporary file. */
  private readonly storedChunkBytes: number[] = [];

  constructor(private readonly limits: { entries: number; bytes: number }) {}

  add(entry: Entry, line: number, bytes: number): void {
    const { length } = this.openChunk.entries;
    const isFull = length > 0 && this.openChunkBytes + bytes > this.limits.bytes;
    if (length === this.limits.entries || isFull) this.closeChunk();
    this.openChunk.entries.push(entry);
    this.openChunk.lines.push(line);
    this.openChunkBytes += bytes;
  }

  /** Yields all chunks. Can be called once, after all calls of `add`. */
  async *chunks(): AsyncGenerator<Chunk<Entry>> {
    yield* this.bufferedChunks.splice(0);
    if (this.folder !== undefined) {
      const file = await open(buildFilePath(this.folder));
      try {
        // Reads no chunk ahead: a stream would buffer many chunks of up to a megabyte each.
        for (const bytes of this.storedChunkBytes)
          yield JSON.parse(await readText(file, bytes)) as Chunk<Entry>;
      } finally {
        await file.close();
      }
    }
    if (this.openChunk.entries.length > 0) yield this.openChunk;
  }

  dispose(): void {
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private closeChunk(): void {
    const [chunk, bytes] = [this.openChunk, this.openChunkBytes];
    this.openChunk = { entries: [], lines: [] };
    this.openChunkBytes = 0;
    if (this.folder === undefined && this.bufferedBytes + bytes <= maxBufferedBytes) {
      this.bufferedChunks.push(chunk);
      this.bufferedBytes += bytes;
      return;
    }
    this.folder ??= mkdtempSync(join(tmpdir(), 'podcast-sync-load-'));
    const chunkJson = Buffer.from(JSON.stringify(chunk));
    appendFileSync(buildFilePath(this.folder), chunkJson, { mode: 0o600 });
    this.storedChunkBytes.push(chunkJson.length);
  }
}

function buildFilePath(folder: string): string {
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
