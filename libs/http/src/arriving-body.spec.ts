import { expect, it } from 'vitest';
import { isTooSlow } from './arriving-body.js';

it.each([
  ['nothing for 5 s', 5_000, 0, false],
  ['nothing for more than 5 s', 5_001, 0, true],
  ['a byte every 50 ms for 6 s', 6_000, 120, true],
  ['a form of 4 kB in 6 s', 6_000, 4_000, false],
  ['60 kB at 4 kB/s', 15_000, 60_000, false],
  ['60 kB at 2 kB/s', 30_000, 60_000, true],
])('%s', (_, elapsedMs, bytes, expected) => {
  expect(isTooSlow(elapsedMs, bytes)).toBe(expected);
});
