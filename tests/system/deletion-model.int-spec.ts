import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeletionStack } from './testing/deletion-stack.js';
import { checkWalks, seed } from './testing/sync-walk.js';

const full = Boolean(process.env.TEST_FULL);
/** Numbers of concurrent walkers: with kills, which wait for started work of a killed worker. */
const walkers = full ? { killing: 6, others: 8 } : { killing: 2, others: 4 };
const runs = full ? { killing: 4, others: 60 } : { killing: 1, others: 6 };

let stack: DeletionStack;
beforeAll(async () => {
  // Above the number of calls in flight of all walkers.
  stack = await DeletionStack.open({ DELETION_CONCURRENCY: '8', LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await stack.close();
});

const all = (count: number, kills: boolean, numRuns: number) =>
  Array.from({ length: count }, (_, index) =>
    checkWalks(stack, kills, { numRuns, seed: seed + index }),
  );

describe('random requests of devices during faults', () => {
  it('answers and data match a serial order of the requests, and every deletion ends', async () => {
    console.log(`seed ${seed}`);
    const checked = await Promise.all([
      ...all(walkers.killing, true, runs.killing),
      ...all(walkers.others, false, runs.others),
    ]);
    stack.checkAlive();
    const failed = checked
      .filter((details) => details.failed)
      .map((details) => fc.defaultReportMessage(details));
    if (failed.length > 0) throw new Error(failed.join('\n'));
    const killed = walkers.killing * runs.killing;
    expect(checked.reduce((sum, details) => sum + details.numRuns, 0)).toBe(
      killed + walkers.others * runs.others,
    );
    console.log(
      `${walkers.others * runs.others + killed} runs, ${killed} of them with a killed process`,
    );
    expect(await stack.orphans()).toEqual({ episodes: 0, states: 0, syncIds: 0, miscounted: 0 });
  }, 600_000);
});
