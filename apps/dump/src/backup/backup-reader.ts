import { parseJson } from '#runtime';
import {
  endOfRows,
  headSchema,
  partSchema,
  type BackupHead,
  type BackupPart,
} from './backup-format.js';

const newLine = '\n'.charCodeAt(0);
const endLine = Buffer.from(`${endOfRows}\n`);
/** Maximum length of a line that is not a row. A longer line is rejected as damaged. */
const maxLineBytes = 1_048_576;

/** Reads the lines and rows of a backup. Streams the rows, in constant memory. */
export class BackupReader {
  private buffer = Buffer.alloc(0);
  private readonly chunks: AsyncIterator<Buffer>;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the content of the first line. @throws Error if the file is not a backup. */
  async readHead(): Promise<BackupHead> {
    const parsed = headSchema.safeParse(await this.readJsonLine());
    if (!parsed.success) throw new Error('the file is not a backup of Podcast Sync');
    return parsed.data.podcast_sync_backup;
  }

  /**
   * Returns the content of the next line, which must not be a row of a table.
   *
   * @throws Error if the file is damaged or incomplete.
   */
  async readPart(): Promise<BackupPart> {
    const parsed = partSchema.safeParse(await this.readJsonLine());
    if (!parsed.success) throw new Error('the backup is damaged: it has an invalid line');
    return parsed.data;
  }

  /** Yields the rows of a table, up to the line that ends them. */
  async *readRows(): AsyncGenerator<Buffer> {
    // The buffer always starts at the start of a line, because only whole lines are removed.
    for (let end = this.findEndOfRows(); ; end = this.findEndOfRows()) {
      const length = end ?? this.buffer.lastIndexOf(newLine) + 1;
      if (length > 0) yield this.buffer.subarray(0, length);
      this.buffer = this.buffer.subarray(length + (end === undefined ? 0 : endLine.length));
      if (end !== undefined) return;
      await this.readChunk();
    }
  }

  /** Returns the offset of the line after the rows; undefined if it is not in the buffer. */
  private findEndOfRows(): number | undefined {
    if (this.buffer.subarray(0, endLine.length).equals(endLine)) return 0;
    const offset = this.buffer.indexOf(`\n${endOfRows}\n`);
    return offset === -1 ? undefined : offset + 1;
  }

  private async readJsonLine(): Promise<unknown> {
    let lineLength: number;
    while ((lineLength = this.buffer.indexOf(newLine)) === -1) {
      if (this.buffer.length > maxLineBytes) return undefined;
      await this.readChunk();
    }
    const line = this.buffer.subarray(0, lineLength).toString('utf8');
    this.buffer = this.buffer.subarray(lineLength + 1);
    return parseJson(line);
  }

  private async readChunk(): Promise<void> {
    const { done, value } = await this.chunks.next();
    if (done) throw new Error('the backup is incomplete: it ends before its last line');
    this.buffer = Buffer.concat([this.buffer, value]);
  }
}
