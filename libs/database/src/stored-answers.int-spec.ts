import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { createDatabase, freshUser, type TestDatabase } from '#testing';
import { createDataSource } from './data-source.js';
import { Database, type Transaction } from './database.js';
import { statement } from './statement.js';
import { StoredAnswerSweep } from './stored-answers.sweep.js';

const full = Boolean(process.env.TEST_FULL);
const pattern = 'test.write';
const limit = 10_000;
const addEffect = statement('test.add', 'INSERT INTO public.effects (user_id, stamp) VALUES ($1, $2)');

let testDatabase: TestDatabase;
let owner: pg.Client;
let database: Database;
let userId: string;

beforeAll(async () => {
  testDatabase = await createDatabase();
  owner = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await owner.connect();
  await owner.query(
    'CREATE TABLE public.effects (user_id uuid, stamp timestamptz(3)); GRANT ALL ON public.effects TO PUBLIC',
  );
  const dataSource = createDataSource({ url: testDatabase.urls.episode, poolSize: 4 });
  database = new Database(await dataSource.initialize(), true, limit);
});

afterAll(async () => {
  await database.close();
  await owner.end();
  await testDatabase.drop();
});

beforeEach(() => {
  userId = freshUser();
});

function write<Reply>(requestId: string, run: (transaction: Transaction) => Promise<Reply>, operation = pattern) {
  return database.write({ userId, requestId, pattern: operation, remainingMs: () => 5_000 }, run);
}

/** A write with an effect, answered with this many characters. */
async function answer(length: number, requestId: string = randomUUID()): Promise<string> {
  await write(requestId, async (transaction) => {
    transaction.last(addEffect, [userId, transaction.stamp]);
    return 'x'.repeat(length);
  });
  return requestId;
}

/** The user's answers in their order, in bytes, 0 for one that is gone; and what the counter says. */
async function stored(): Promise<{ bytes: number[]; counted: number }> {
  const { rows } = await owner.query<{ bytes: number; recorded: number; counted: number }>(
    `SELECT coalesce(octet_length(r.answer::text), 0)::int AS bytes, r.bytes AS recorded, c.answer_bytes::int AS counted
     FROM sync.user_clock c LEFT JOIN sync.request r USING (user_id) WHERE c.user_id = $1 ORDER BY r.stamp`,
    [userId],
  );
  expect(rows.map((row) => row.recorded)).toEqual(rows.map((row) => row.bytes));
  return { bytes: rows.map((row) => row.bytes), counted: rows[0]?.counted ?? 0 };
}

const effects = async () => {
  const { rows } = await owner.query('SELECT stamp FROM public.effects WHERE user_id = $1', [userId]);
  return rows.length;
};

describe('the stored answers of a user', () => {
  it('are those of the latest writes: the oldest go, their markers stay', async () => {
    for (let n = 0; n < 5; n += 1) await answer(2_500);
    const { bytes, counted } = await stored();
    expect(bytes.map((each) => each > 0)).toEqual([false, false, true, true, true]);
    expect(counted).toBe(bytes.reduce((sum, each) => sum + each, 0));
  });

  it('never have more bytes than they may, and the counter is never behind them', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(200), fc.nat(4_000), fc.constantFrom(9_000, 9_980, 20_000)), {
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        userId = freshUser();
        for (const length of lengths) {
          await answer(length);
          const { bytes, counted } = await stored();
          const sum = bytes.reduce((total, each) => total + each, 0);
          expect(sum).toBeLessThanOrEqual(counted);
          expect(counted).toBeLessThanOrEqual(limit);
          // The kept answers are the latest, leaving aside those that exceed the limit by themselves.
          const possible = bytes.filter((each, n) => each > 0 || (lengths[n] ?? 0) < 9_988);
          expect(possible.slice(possible.findIndex((each) => each > 0)).includes(0)).toBe(false);
        }
      }),
      { numRuns: full ? 100 : 15 },
    );
  });

  it('have room of their own for every user', async () => {
    const first = await answer(9_000);
    const one = userId;
    userId = freshUser();
    await answer(9_000);
    userId = one;
    const again = await write(first, () => Promise.reject(new Error('ran twice')));
    expect(again).toBe('x'.repeat(9_000));
  });

  it('do not hold one that has no room by itself, and lose nothing to it', async () => {
    await answer(1_000);
    await answer(limit);
    expect((await stored()).bytes.map((each) => each > 0)).toEqual([true, false]);
  });

  it('are counted anew where the counter says too much, as after the sweep of old ones', async () => {
    await answer(1_000);
    await owner.query('DELETE FROM sync.request WHERE user_id = $1', [userId]);
    for (let n = 0; n < 9; n += 1) await answer(1_000);
    expect((await stored()).bytes.every((each) => each > 0)).toBe(true);
    expect((await stored()).counted).toBeLessThanOrEqual(limit);
  });
});

describe('a request whose answer is gone', () => {
  /** Makes a write, and others until its answer is dropped. */
  async function evicted(): Promise<{ requestId: string; stamp: string }> {
    const requestId = randomUUID();
    const stamp = await write(requestId, async (transaction) => {
      transaction.last(addEffect, [userId, transaction.stamp]);
      return transaction.stamp;
    });
    for (let n = 0; n < 2; n += 1) await answer(9_000);
    return { requestId, stamp };
  }

  it('is judged again under its first stamp, and changes nothing however often it comes', async () => {
    const { requestId, stamp } = await evicted();
    const [before, clock] = [await effects(), await database.read(clockOf, [userId])];
    for (let n = 0; n < 3; n += 1) {
      const again = await write(requestId, async (transaction) => {
        await transaction.query(addEffect, [userId, transaction.stamp]);
        transaction.last(addEffect, [userId, transaction.stamp]);
        return { stamp: transaction.stamp, repeated: transaction.repeated };
      });
      expect(again).toEqual({ stamp, repeated: true });
    }
    expect(await effects()).toBe(before);
    expect(await database.read(clockOf, [userId])).toEqual(clock);
  });

  it('fails as what it would mean now fails, and changes nothing', async () => {
    const { requestId } = await evicted();
    const clock = await database.read(clockOf, [userId]);
    for (let n = 0; n < 2; n += 1) {
      const again = write(requestId, () => Promise.reject(new Failure('gone')));
      await expect(again).rejects.toMatchObject({ code: 'gone' });
    }
    expect(await database.read(clockOf, [userId])).toEqual(clock);
  });

  it('is invalid as another operation', async () => {
    const { requestId } = await evicted();
    const other = write(requestId, async () => 'other', 'test.other');
    await expect(other).rejects.toMatchObject({ code: 'invalid' });
  });
});

it('the sweep removes the answers of writes that are older than an hour, and no others', async () => {
  const add = (id: string, minutes: number) =>
    owner.query(
      "INSERT INTO sync.request (user_id, request_id, pattern, stamp, answer, created_at) VALUES ($1, $2, 'p', now(), '{}', now() - $3 * interval '1 minute')",
      [userId, id, minutes],
    );
  await owner.query('DELETE FROM sync.request');
  for (const [id, minutes] of Object.entries({ new: 0, kept: 59, old: 61, older: 10_000 })) await add(id, minutes);
  await owner.query(
    `INSERT INTO sync.request (user_id, request_id, pattern, stamp, answer, created_at)
     SELECT $1, 'many ' || n, 'p', now(), '{}', now() - interval '2 hours' FROM generate_series(1, 6000) n`,
    [userId],
  );
  await new StoredAnswerSweep(database, { warn: (line: unknown) => expect.fail(JSON.stringify(line)) }).sweep();
  const { rows } = await owner.query('SELECT request_id FROM sync.request ORDER BY 1');
  expect(rows).toEqual([{ request_id: 'kept' }, { request_id: 'new' }]);
});

const clockOf = statement('test.clock', 'SELECT stamp FROM sync.user_clock WHERE user_id = $1');
