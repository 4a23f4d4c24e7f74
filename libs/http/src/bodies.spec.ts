import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Failure, JsonText } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { dropBody, readBody, parseJson, sentBatch } from './bodies.js';

const limit = 2 * 1_024 * 1_024;
const read = (text: string) => parseJson(Buffer.from(text)).value;

describe('parseJson', () => {
  it.each(['{"a":[1,"x",null]}', '7', '"x"', '{"__proto__":1}'])('reads %s', (text) => {
    expect(JSON.stringify(read(text))).toBe(text);
  });

  it('returns the text as well, without a byte order mark', () => {
    expect(parseJson(Buffer.from('\ufeff{"a": 1e999}'))).toEqual({
      value: { a: Infinity },
      text: '{"a": 1e999}',
    });
  });

  it('returns undefined for an empty body', () => expect(read('')).toBeUndefined());

  it.each(['{', 'x', '{"a":1,}', '\ufeff{}{}'])('rejects invalid JSON: %s', (text) => {
    expect(() => read(text)).toThrowError('invalid');
  });

  it('rejects invalid UTF-8', () => {
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrowError('invalid');
  });

  it('rejects more than 32 levels of nesting', () => {
    expect(read('['.repeat(32) + ']'.repeat(32))).toBeDefined();
    expect(() => read('['.repeat(33) + ']'.repeat(33))).toThrowError('invalid');
  });

  it('rejects more values than any batch has, and does not count texts', () => {
    expect(() => read(`[${'0,'.repeat(65_536)}0]`)).toThrowError('invalid');
    expect(() => read(`[${'[],'.repeat(40_000)}0]`)).toThrowError('invalid');
    expect(read(JSON.stringify('[,{,"'.repeat(100_000)))).toHaveLength(500_000);
  });

  it('rejects too many values with the error that the caller passed', () => {
    const tooMany = () => new Error('too many');
    expect(() => parseJson(Buffer.from('[0,0,0]'), 2, tooMany)).toThrowError('too many');
    expect(parseJson(Buffer.from('[0,0]'), 2, tooMany).value).toEqual([0, 0]);
    expect(() => parseJson(Buffer.from('['.repeat(33)), 2, tooMany)).toThrowError('invalid');
  });

  const worst: Record<string, string> = {
    'numbers of one digit': `[${'0,'.repeat(limit / 2 - 2)}0]`,
    'as many of them as are let through': `[${'0,'.repeat(60_000)}0]`,
    'empty arrays': `[${'[],'.repeat(limit / 3 - 2)}0]`,
    'as many of them as are let through ': `[${'[],'.repeat(30_000)}0]`,
    'a text': `"${'x'.repeat(limit - 2)}"`,
    'a text of escapes': `"${'\\u0001'.repeat(limit / 6 - 1)}"`,
    'a text of quotes': `"${'\\"'.repeat(limit / 2 - 2)}"`,
    'a text of many bytes a character': `"${'☂'.repeat(limit / 3 - 2)}"`,
    'a number of many digits': '1'.repeat(limit),
    'an exponent of many digits': `1e${'1'.repeat(limit - 2)}`,
    'different keys': `{${Array.from({ length: 60_000 }, (_, key) => `"${key}x":0`).join(',')}}`,
    'keys that look like indexes': `{${Array.from(
      { length: 60_000 },
      (_, key) => `"${key * 65_537}":0`,
    ).join(',')}}`,
    'white space': ' '.repeat(limit),
  };
  it.each(Object.entries(worst))('takes less than a second for 2 MB: %s', (name, text) => {
    const body = Buffer.from(text);
    const start = performance.now();
    try {
      parseJson(body);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
    const tookMs = performance.now() - start;
    console.log(`${name}: ${body.length} bytes, ${tookMs.toFixed(1)} ms (goal 100 ms)`);
    expect(tookMs).toBeLessThan(1_000);
  });
});

describe('readBody', () => {
  const nothing = () => {};
  const inPieces = (...pieces: string[]) =>
    Readable.from(pieces.map((piece) => Buffer.from(piece)));

  it('reads all pieces', async () => {
    expect((await readBody(inPieces('{"a"', ':', '1}'), 7, limit, nothing)).toString()).toBe(
      '{"a":1}',
    );
  });

  it.each([1_000, 16_384, 16_385, 100_000])(
    'reads %d bytes that arrive one by one',
    async (length) => {
      const sent = Buffer.from(Array.from({ length }, (_, index) => index % 251));
      const pieces = Readable.from(Array.from(sent, (byte) => Buffer.from([byte])));
      expect((await readBody(pieces, length, limit, nothing)).equals(sent)).toBe(true);
    },
  );

  it('rejects a body by its declared length before it arrives', async () => {
    const unread = new Readable({ read: () => expect.fail('read') });
    await expect(readBody(unread, 11, 10, nothing)).rejects.toMatchObject({ statusCode: 413 });
  });

  it('refuses a body that turns out to be too large', async () => {
    await expect(readBody(inPieces('12345', '67890', '1'), 0, 10, nothing)).rejects.toMatchObject({
      statusCode: 413,
    });
    expect(await readBody(inPieces('12345', '67890'), 0, 10, nothing)).toHaveLength(10);
  });

  it('counts received bytes threefold, and not the declared length', async () => {
    let held = 0;
    const body = await readBody(
      inPieces('x'.repeat(20_000)),
      limit,
      limit,
      (bytes) => (held += bytes),
    );
    expect([body.length, held]).toEqual([20_000, 60_000]);
  });

  it('ends above the limit of bytes', async () => {
    const full = () => {
      throw new Failure('unavailable');
    };
    await expect(readBody(inPieces('x'), 1, limit, full)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('ends as a bad request if the client stops half-way', async () => {
    const broken = new Readable({ read: () => broken.destroy(new Error('aborted')) });
    await expect(readBody(broken, 9, limit, nothing)).rejects.toMatchObject({ statusCode: 400 });
  });
});

describe('dropBody', () => {
  const sending = (headers: Record<string, string> = {}) =>
    Object.assign(new PassThrough(), { headers }) as PassThrough & IncomingMessage;

  it('resolves when all of a body has arrived, and not before', async () => {
    const payload = sending({ 'content-length': '6' });
    let isDropped = false;
    const dropped = dropBody(payload, 10).then((all) => ((isDropped = true), all));
    payload.write('abc');
    await new Promise(setImmediate);
    expect(isDropped).toBe(false);
    payload.end('def');
    expect(await dropped).toBe(true);
  });

  it('does not wait for more than the limit, declared or sent', async () => {
    expect(await dropBody(sending({ 'content-length': '11' }), 10)).toBe(false);
    const payload = sending();
    payload.write('x'.repeat(11));
    expect(await dropBody(payload, 10)).toBe(false);
  });

  it('does not wait for a disconnected client', async () => {
    const payload = sending();
    const dropped = dropBody(payload, 10);
    payload.destroy();
    expect(await dropped).toBe(true);
    expect(await dropBody(payload, 10)).toBe(true);
  });
});

describe('the body of a batch', () => {
  const request = { sentJson: JsonText.from<never>('{"episodes":[0,0]}') } as FastifyRequest;

  it('is passed on as it was sent', () =>
    expect(sentBatch(request, [0, 0], 2)).toBe(request.sentJson));

  it('with too many entries is refused', () => {
    expect(() => sentBatch(request, [0, 0, 0], 2)).toThrowError('invalid');
  });
});
