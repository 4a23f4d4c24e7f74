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
/** Maximum length of a line other than a row: a key set has less than 1 kB. */
const maxLineBytes = 1_048_576;

/** Reads the lines and rows of a backup. Streams the rows, in constant memory. */
export class BackupReader {
  private buffer = Buffer.alloc(0);
  private readonly chunks: AsyncIterator<Buffer>;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns the first line. @throws Error if the file is not a backup. */
  async readHead(): Promise<BackupHead> {
    const parsed = headSchema.safeParse(await this.readJsonLine());
    if (!parsed.success) throw new Error('the file is not a backup of Podcast Sync');
    return parsed.data.podcast_sync_backup;
  }

  /**
   * Returns the next line, which must not be a table row.
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
    // The buffer always starts with a line, as only whole lines are yielded.
    for (let end = this.endOfRows(); ; end = this.endOfRows()) {
      const length = end ?? this.buffer.lastIndexOf(newLine) + 1;
      if (length > 0) yield this.buffer.subarray(0, length);
      this.buffer = this.buffer.subarray(length + (end === undefined ? 0 : endLine.length));
      if (end !== undefined) return;
      await this.readChunk();
    }
  }

  private endOfRows(): number | undefined {
    if (this.buffer.subarray(0, endLine.length).equals(endLine)) return 0;
    const at = this.buffer.indexOf(`\n${endOfRows}\n`);
    return at === -1 ? undefined : at + 1;
  }

  private async readJsonLine(): Promise<unknown> {
    let at: number;
    while ((at = this.buffer.indexOf(newLine)) === -1) {
      if (this.buffer.length > maxLineBytes) return undefined;
      await this.readChunk();
    }
    const line = this.buffer.subarray(0, at).toString('utf8');
    this.buffer = this.buffer.subarray(at + 1);
    return parseJson(line);
  }

  private async readChunk(): Promise<void> {
    const { done, value } = await this.chunks.next();
    if (done) throw new Error('the backup is incomplete: it ends before its last line');
    this.buffer = Buffer.concat([this.buffer, value]);
  }
}
