import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { maxLineBytes } from '#contracts';

/** One line of a file. */
export interface Line {
  /** Starts at 1. */
  readonly number: number;
  /** Offset of the next line, in bytes of the uncompressed file. */
  readonly end: number;
  /** `undefined` if the line is too long or not UTF-8. */
  readonly text: string | undefined;
  /** Length in bytes without the line feed. */
  readonly bytes: number;
}

/** A place in a file at which reading continues. */
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
  const pieces = source[Symbol.asyncIterator]();
  const head: Buffer[] = [];
  for (let bytes = 0; bytes < 2; bytes += head.at(-1)?.length ?? 0) {
    const { done, value } = await pieces.next();
    if (done) break;
    head.push(value);
  }
  const [first, second] = Buffer.concat(head.slice(0, 2));
  const isGzip = first === 0x1f && second === 0x8b;
  const whole = async function* () {
    yield* head;
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
  };
  return isGzip ? pipeline(Readable.from(whole()), createGunzip(), () => undefined) : whole();
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
  let [number, end] = [from.line, from.offset];
  let [rest, restBytes]: [Buffer[], number] = [[], 0];
  const line = (parts: readonly Buffer[], bytes: number, feed: number): Line => {
    number += 1;
    end += bytes + feed;
    return { number, end, bytes, text: bytes > maxLineBytes ? undefined : textOf(parts) };
  };
  for await (const chunk of stream) {
    const lines: Line[] = [];
    let begin = 0;
    for (let feed = chunk.indexOf(10); feed >= 0; feed = chunk.indexOf(10, begin)) {
      const part = chunk.subarray(begin, feed);
      lines.push(line([...rest, part], restBytes + part.length, 1));
      [rest, restBytes, begin] = [[], 0, feed + 1];
    }
    const left = chunk.subarray(begin);
    restBytes += left.length;
    if (restBytes > maxLineBytes) rest = [];
    else if (left.length > 0) rest.push(left);
    if (lines.length > 0) yield lines;
  }
  if (restBytes > 0) yield [line(rest, restBytes, 0)];
}

function textOf(parts: readonly Buffer[]): string | undefined {
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
