import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventStack, victims } from './testing/event.stack.js';

/** How often each part of the system is killed. */
const rounds = 8;

let stack: EventStack;
beforeAll(async () => {
  stack = await EventStack.open(6);
});
afterAll(() => stack.close());

it('whatever process is killed, no event is missing, none comes before its commit, and no stamp of a user goes back', async () => {
  for (let round = 0; round < rounds; round += 1)
    for (const victim of round % 2 === 0 ? victims : victims.toReversed()) {
      await stack.goOn();
      await stack.kill(victim);
    }
  await stack.goOn();
  expect(await stack.violations()).toEqual([]);
  console.log(
    `${stack.writes} writes, ${stack.follower.read.size} events, ${rounds * victims.length} kills`,
  );
}, 600_000);
