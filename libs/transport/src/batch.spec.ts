import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Batch } from './batch.js';

/** A batch, what it sent, and a way to answer what was sent first. */
function batch() {
  const sent: number[][] = [];
  const answers: (() => void)[] = [];
  const items = new Batch<number>((some) => {
    sent.push(some);
    return new Promise((resolve) => answers.push(resolve));
  });
  return { items, sent, answer: () => answers.shift()?.() };
}

it('sends what comes in one turn of the event loop together', async () => {
  const { items, sent } = batch();
  for (const item of [1, 2, 3]) items.add(item);
  await turn();
  expect(sent).toEqual([[1, 2, 3]]);
});

it('sends what comes before the answer together, after it', async () => {
  const { items, sent, answer } = batch();
  items.add(1);
  await turn();
  items.add(2);
  await turn();
  items.add(3);
  await turn();
  expect(sent).toEqual([[1]]);
  answer();
  await turn();
  expect(sent).toEqual([[1], [2, 3]]);
  answer();
  await turn();
  items.add(4);
  await turn();
  expect(sent).toEqual([[1], [2, 3], [4]]);
});

it('sends no more than 1,000 at once, in order', async () => {
  const { items, sent, answer } = batch();
  for (let item = 0; item < 2_500; item += 1) items.add(item);
  for (let n = 0; n < 3; n += 1) {
    await turn();
    answer();
  }
  expect(sent.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  expect(sent.flat()).toEqual(Array.from({ length: 2_500 }, (_, item) => item));
});
