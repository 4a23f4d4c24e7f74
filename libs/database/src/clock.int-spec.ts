import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { freshUser } from '#testing';
import { type DatabaseContext, openDatabase } from '../testing/database-context.js';
import { countdown, selectClock, statement } from './index.js';
import type { Transaction, Write } from './database.js';

let fixture: DatabaseContext;
let userId: string;
/** Notifications about the test's user. */
let notified: string[] = [];

beforeAll(async () => {
  fixture = await openDatabase('episode');
  fixture.database.onClock((user, stamp) => {
    if (user === userId) notified.push(stamp);
  });
});
beforeEach(() => {
  [userId, notified] = [freshUser(), []];
});
afterAll(() => fixture.close());

const clock = async () =>
  (await fixture.database.read<{ clock: string }>(selectClock, [userId]))[0]?.clock;
const write = (run: (transaction: Transaction) => Promise<unknown>, more: Partial<Write> = {}) =>
  fixture.database.write(
    {
      userId,
      requestId: randomUUID(),
      changes: [],
      smallAnswer: true,
      remainingMs: countdown(5_000),
      ...more,
    },
    run,
  );

describe('a commit that advances a clock is reported with the new stamp:', () => {
  it('a write', async () => {
    await write(async () => 'done');
    await write(async () => 'done');
    expect(notified).toHaveLength(2);
    expect(notified[1]).toBe(await clock());
  });

  it('a write that advances it by `advance`', async () => {
    await write((transaction) => transaction.advance(), { advances: false });
    expect(notified).toEqual([await clock()]);
  });
});

describe('nothing is reported for', () => {
  it('a write that fails', async () => {
    await expect(write(() => Promise.reject(new Failure('internal')))).rejects.toThrow('internal');
    await expect(write(() => Promise.reject(new Failure('not_found')))).rejects.toThrow(
      'not_found',
    );
    expect(notified).toEqual([]);
  });

  it('a write that is discarded, or never advances the clock', async () => {
    await write(async (transaction) => transaction.discard());
    await write(async () => 'done', { advances: false });
    expect(notified).toEqual([]);
  });

  it('a repeated write', async () => {
    const requestId = randomUUID();
    await write(async () => 'done', { requestId });
    for (const smallAnswer of [true, false])
      await write(async () => 'done', { requestId, smallAnswer });
    expect(notified).toHaveLength(1);
  });
});

it('a statement that advances clocks and returns no stamp is rejected', () => {
  const made = (text: string) => () => statement(`test.${randomUUID()}`, text);
  expect(made('SELECT sync.advance_clock($1)')).toThrow(
    'advances a clock: it must return the stamp AS moved',
  );
  expect(made('SELECT sync.advance_clock($1) AS moved')).not.toThrow();
  expect(made('SELECT sync.lock_clock($1)')).not.toThrow();
});
