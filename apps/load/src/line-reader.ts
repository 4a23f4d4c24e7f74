import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { maxLineBytes } from '#contracts';

/** One line of a file. */
export interface Line {
  /** Number of the line in the file, from 1. */
  readonly number: number;
  /** Offset of the next line, in bytes of the uncompressed file. */
  readonly end: number;
  /** `undefined` if the line is too long or not UTF-8. */
  readonly text: string | undefined;
  /** Length in bytes without the line feed. */
  readonly bytes: number;
}

/** An offset in a file, at the start of a line. */
export interface FileOffset {
  /** In bytes of the uncompressed file. */
  readonly offset: number;
  /** Number of lines before the offset. */
  readonly line: number;
}

export const startOfFile: FileOffset = { offset: 0, line: 0 };

/** Returns the uncompressed bytes of a file. Detects gzip by its first bytes. */
export async function decompressFile(
  source: AsyncIterable<Buffer>,
): Promise<AsyncIterable<Buffer>> {
  const chunks = source[Symbol.asyncIterator]();
  const headChunks: Buffer[] = [];
  for (let bytes = 0; bytes < 2; bytes += headChunks.at(-1)?.length ?? 0) {
    const { done, value } = await chunks.next();
    if (done) break;
    headChunks.push(value);
  }
  const [first, second] = Buffer.concat(headChunks.slice(0, 2));
  const isGzip = first === 0x1f && second === 0x8b;
  const readAllChunks = async function* () {
    yield* headChunks;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  };
  return isGzip
    ? pipeline(Readable.from(readAllChunks()), createGunzip(), () => undefined)
    : readAllChunks();
}

/**
 * Yields the lines of a stream, one array for each chunk that completes lines. Discards the text of
 * lines of more than {@link maxLineBytes}.
 *
 * @param from the offset of the stream's start.
 * @throws the stream's error, such as a corrupt gzip, after all complete lines before it.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  from: FileOffset = startOfFile,
): AsyncGenerator<Line[]> {
  let [lineNumber, endOffset] = [from.line, from.offset];
  /** The bytes of a line whose end was not read. Empty if the line is too long. */
  let [incompleteLine, incompleteBytes]: [Buffer[], number] = [[], 0];
  const createLine = (pieces: readonly Buffer[], bytes: number, feedBytes: number): Line => {
    lineNumber += 1;
    endOffset += bytes + feedBytes;
    const text = bytes > maxLineBytes ? undefined : decodeText(pieces);
    return { number: lineNumber, end: endOffset, bytes, text };
  };
  for await (const chunk of stream) {
    const lines: Line[] = [];
    let lineStart = 0;
    for (let feed = chunk.indexOf(10); feed >= 0; feed = chunk.indexOf(10, lineStart)) {
      const lineEnd = chunk.subarray(lineStart, feed);
      lines.push(createLine([...incompleteLine, lineEnd], incompleteBytes + lineEnd.length, 1));
      [incompleteLine, incompleteBytes, lineStart] = [[], 0, feed + 1];
    }
    const remainder = chunk.subarray(lineStart);
    incompleteBytes += remainder.length;
    if (incompleteBytes > maxLineBytes) incompleteLine = [];
    else if (remainder.length > 0) incompleteLine.push(remainder);
    if (lines.length > 0) yield lines;
  }
  if (incompleteBytes > 0) yield [createLine(incompleteLine, incompleteBytes, 0)];
}

/** Returns the text of a line; undefined if its bytes are not UTF-8. */
function decodeText(pieces: readonly Buffer[]): string | undefined {
  const bytes = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
