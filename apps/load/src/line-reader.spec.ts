import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxLineBytes } from '#contracts';
import { collected } from '../testing/collected.js';
import { type Line, linesOf, type FileOffset, decompressFile } from './line-reader.js';

async function read(bytes: Buffer, piece = bytes.length, from?: FileOffset): Promise<Line[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
  return (await collected(linesOf(Readable.from(pieces), from))).flat();
}

describe('the lines of a file', () => {
  it('are independent of chunks, with their numbers and next offsets', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ä', '😀', ' ') });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        async (texts, piece, isEnded) => {
          const file = Buffer.from(texts.join('\n') + (isEnded ? '\n' : ''));
          const lines = await read(file, piece);
          const expected = file.length === 0 ? [] : file.toString().replace(/\n$/, '').split('\n');
          expect(lines.map((line) => line.text)).toEqual(expected);
          expect(lines.map(({ number }) => number)).toEqual(expected.map((_, place) => place + 1));
          for (const { number, end } of lines) {
            const rest = await read(file.subarray(end), piece, { offset: end, line: number });
            expect(rest).toEqual(lines.slice(number));
          }
        },
      ),
    );
  });

  it('have no text if they are too long or not UTF-8; later lines have theirs', async () => {
    const long = Buffer.alloc(maxLineBytes + 1, 'x');
    const [first, second, third] = await read(
      Buffer.concat([long, Buffer.from([10, 0xff, 10, 0x61])]),
      65_536,
    );
    expect([first?.text, first?.bytes, second?.text, third?.text]).toEqual([
      undefined,
      maxLineBytes + 1,
      undefined,
      'a',
    ]);
  });
});

describe('a file', () => {
  const content = async (bytes: Buffer[]) =>
    Buffer.concat(await collected(await decompressFile(Readable.from(bytes)))).toString();

  it('is read as gzip by its first bytes, in chunks of any size', async () => {
    const zipped = gzipSync('a line\n');
    expect(await content([zipped])).toBe('a line\n');
    expect(await content([...zipped].map((byte) => Buffer.from([byte])))).toBe('a line\n');
  });

  it.each(['', 'a', '{"user":'])('is read as plain text otherwise: "%s"', async (text) => {
    expect(await content([Buffer.from(text)].filter(({ length }) => length > 0))).toBe(text);
  });

  it('fails at the end of truncated gzip, after all complete lines', async () => {
    const zipped = gzipSync('a line\n').subarray(0, -9);
    await expect(content([zipped])).rejects.toThrow(/unexpected end|premature/i);
  });
});
