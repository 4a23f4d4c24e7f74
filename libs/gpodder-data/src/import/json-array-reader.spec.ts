import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResponseError, JsonArrayReader } from './json-array-reader.js';

async function* chunksOf(text: string, size: number): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += size) yield text.slice(from, from + size);
}

/** Reads a text in chunks. Returns the elements and the object with an empty array. */
async function read(
  text: string,
  size = text.length,
): Promise<{ elements: unknown[]; rest: unknown }> {
  const elements: unknown[] = [];
  const all = new JsonArrayReader('actions').read(chunksOf(text, Math.max(size, 1)));
  for (;;) {
    const { value, done } = await all.next();
    if (done) return { elements, rest: value };
    elements.push(JSON.parse(value));
  }
}

it('JsonArrayReader returns the elements that JSON.parse returns, for any chunks', async () => {
  const objects = fc.record({
    before: fc.jsonValue(),
    actions: fc.array(fc.jsonValue()),
    timestamp: fc.jsonValue(),
  });
  const keyless = fc.constantFrom(
    { actions: [] },
    { x: { actions: [1] }, actions: [{ actions: [2] }], y: '"actions":[' },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(objects, keyless),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(undefined, 1, '\r\n\t'),
      async (value, size, space) => {
        const { elements, rest } = await read(JSON.stringify(value, null, space), size);
        const sent = JSON.parse(JSON.stringify(value)) as { actions: unknown[] };
        expect(elements).toEqual(sent.actions);
        expect(rest).toEqual({ ...sent, actions: [] });
      },
    ),
    { numRuns: 300 },
  );
});

describe('JsonArrayReader rejects', () => {
  it.each([
    '',
    '{"actions":[1,2',
    '{"actions":["',
    '{"actions":[{"a":1}',
    '{"actions":[1]',
    '{"actions":[1],"timestamp":',
  ])('a truncated response: %s', async (text) => expect(read(text)).rejects.toThrow(ResponseError));

  it.each(['[]', '1', '{}', 'null', '{"actions":{}}', '<html></html>', '{"x":{"actions":[]}}'])(
    'a response without the array: %s',
    async (text) => expect(read(text)).rejects.toThrow(ResponseError),
  );

  it('an element that is too large, before its end', async () => {
    let chunks = 0;
    async function* endless() {
      yield '{"actions":["';
      for (;;) {
        chunks += 1;
        yield 'x'.repeat(65_536);
      }
    }
    await expect(new JsonArrayReader('actions').read(endless()).next()).rejects.toThrow(
      ResponseError,
    );
    expect(chunks).toBeLessThan(20);
  });
});
