import { expect, it } from 'vitest';
import { parsingSlot } from './parsing-slot.js';

it('is one in each iteration of the event loop', async () => {
  const iterations = new Set<number>();
  let [iteration, isDone] = [0, false];
  const count = () => {
    iteration += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  const slots = Array.from({ length: 20 }, async () => {
    await parsingSlot();
    iterations.add(iteration);
  });
  await Promise.all(slots);
  isDone = true;
  expect(iterations.size).toBe(slots.length);
});
