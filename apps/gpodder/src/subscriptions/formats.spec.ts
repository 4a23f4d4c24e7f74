import { describe, expect, it } from 'vitest';
import { readFeeds } from './formats.js';

const read = (text: string) => readFeeds('txt', Buffer.from(text), () => undefined);

describe('a list of feeds as text', () => {
  it.each([
    ['a\nb\r\nc\rd', ['a', 'b', 'c', 'd']],
    ['\n\n a \n\t\n\r\n', [' a ']],
    ['\n', []],
  ])('has one in each line that is not blank: %j', (text, urls) => expect(read(text)).toEqual(urls));

  it('is refused with more lines than a list has, also where they are blank', () => {
    expect(read(' \n'.repeat(30_000))).toEqual([]);
    expect(() => read(' \n'.repeat(30_001))).toThrow('too large');
  });

  it('of nothing but line feeds makes none of them a text of its own', () => {
    const before = process.memoryUsage().heapUsed;
    expect(read('\n'.repeat(5_000_000))).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000);
  });
});
