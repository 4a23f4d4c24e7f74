import { setImmediate as tick } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Batcher } from './batcher.js';

function batch(bytesOf: (item: number) => number = () => 1, maxBytes = 1_000_000) {
  const sent: number[][] = [];
  const answers: (() => void)[] = [];
  const send = (some: number[]) => {
    sent.push(some);
    return new Promise<void>((resolve) => answers.push(resolve));
  };
  const items = new Batcher<number>(send, bytesOf, maxBytes);
  return { items, sent, answer: () => answers.shift()?.() };
}

it('sends items of one iteration of the event loop together', async () => {
  const { items, sent } = batch();
  for (const item of [1, 2, 3]) items.add(item);
  await tick();
  expect(sent).toEqual([[1, 2, 3]]);
});

it('sends items added before the answer together, after the answer', async () => {
  const { items, sent, answer } = batch();
  items.add(1);
  await tick();
  items.add(2);
  await tick();
  items.add(3);
  await tick();
  expect(sent).toEqual([[1]]);
  answer();
  await tick();
  expect(sent).toEqual([[1], [2, 3]]);
  answer();
  await tick();
  items.add(4);
  await tick();
  expect(sent).toEqual([[1], [2, 3], [4]]);
});

it('sends at most 1,000 items together, in order', async () => {
  const { items, sent, answer } = batch();
  for (let item = 0; item < 2_500; item += 1) items.add(item);
  for (let n = 0; n < 3; n += 1) {
    await tick();
    answer();
  }
  expect(sent.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  expect(sent.flat()).toEqual(Array.from({ length: 2_500 }, (_, item) => item));
});

it('fills batches up to the limit of bytes, sends a larger item alone, and keeps the order', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.nat(150), { minLength: 1, maxLength: 30 }), async (sizes) => {
      const { items, sent, answer } = batch((size) => size, 100);
      for (const size of sizes) items.add(size);
      for (let n = 0; n < sizes.length; n += 1) {
        await tick();
        answer();
      }
      const sum = (some: number[]) => some.reduce((bytes, size) => bytes + size, 0);
      expect(sent.flat()).toEqual(sizes);
      for (const some of sent) expect(some.length === 1 || sum(some) <= 100).toBe(true);
      for (const [at, some] of sent.slice(0, -1).entries())
        expect(sum(some) + (sent[at + 1]?.[0] ?? 0)).toBeGreaterThan(100);
    }),
  ));
