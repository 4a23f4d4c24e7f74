import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventStack, victims } from './testing/event.stack.js';

/** Number of kills of each part of the system. */
const rounds = 8;

let stack: EventStack;
beforeAll(async () => {
  stack = await EventStack.open(6);
});
afterAll(() => stack.close());

it('kills lose no event, send none before its commit, and never decrease stamps', async () => {
  for (let round = 0; round < rounds; round += 1)
    for (const victim of round % 2 === 0 ? victims : victims.toReversed()) {
      await stack.continueFor();
      await stack.kill(victim);
    }
  await stack.continueFor();
  expect(await stack.violations()).toEqual([]);
  console.log(
    `${stack.writes} writes, ${stack.follower.read.size} events, ${rounds * victims.length} kills`,
  );
}, 600_000);
