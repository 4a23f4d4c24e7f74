import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { Fixture, type FixtureDatabase, freshUser } from '#testing';
import { Database, type Transaction } from './database.js';
import { statement } from './statement.js';
import { RequestSweep } from './request-sweep.js';

const full = Boolean(process.env.TEST_FULL);
const limit = 10_000;
const addEffect = statement(
  'test.add_stamp',
  'INSERT INTO public.effects (user_id, stamp) VALUES ($1, $2)',
);

const fixture = new Fixture();
let owner: FixtureDatabase['owner'];
let database: Database;
let userId: string;

beforeAll(async () => {
  const base = await fixture.database('episode');
  owner = base.owner;
  await owner.query(
    `CREATE TABLE public.effects (user_id uuid, stamp timestamptz(3));
     GRANT ALL ON public.effects TO PUBLIC`,
  );
  database = new Database(base.database.pool, true, limit);
});
afterAll(() => fixture.close());

beforeEach(() => {
  userId = freshUser();
});

function write<Reply>(requestId: string, run: (transaction: Transaction) => Promise<Reply>) {
  return database.write(
    { userId, requestId, changes: [], smallAnswer: true, remainingMs: () => 5_000 },
    run,
  );
}

/** Runs a write with an effect and an answer of this length. */
async function answer(length: number, requestId: string = randomUUID()): Promise<string> {
  await write(requestId, async (transaction) => {
    transaction.sendWithCommit(addEffect, [userId, transaction.stamp]);
    return 'x'.repeat(length);
  });
  return requestId;
}

/** Returns the bytes of the user's answers in order, 0 for a deleted one, and `answer_bytes`. */
async function stored(): Promise<{ bytes: number[]; counted: number }> {
  const { rows } = await owner.query<{ bytes: number; recorded: number; counted: number }>(
    `SELECT coalesce(octet_length(a.answer::text), 0)::int AS bytes,
       coalesce(a.bytes, 0) AS recorded,
       c.answer_bytes::int AS counted
     FROM sync.user_clock c LEFT JOIN sync.request r USING (user_id)
     LEFT JOIN sync.answer a USING (user_id, request_id)
     WHERE c.user_id = $1 ORDER BY r.stamp`,
    [userId],
  );
  expect(rows.map((row) => row.recorded)).toEqual(rows.map((row) => row.bytes));
  return { bytes: rows.map((row) => row.bytes), counted: rows[0]?.counted ?? 0 };
}

const effects = async () => {
  const { rows } = await owner.query('SELECT stamp FROM public.effects WHERE user_id = $1', [
    userId,
  ]);
  return rows.length;
};

describe('the stored answers of a user', () => {
  it('are those of the latest writes: the oldest are deleted, their markers stay', async () => {
    for (let n = 0; n < 5; n += 1) await answer(2_500);
    const { bytes, counted } = await stored();
    expect(bytes.map((each) => each > 0)).toEqual([false, false, true, true, true]);
    expect(counted).toBe(bytes.reduce((sum, each) => sum + each, 0));
  });

  it('never exceed their limit, and the counter is never too low', async () => {
    const sizes = fc.array(
      fc.oneof(fc.nat(200), fc.nat(4_000), fc.constantFrom(9_000, 9_980, 20_000)),
      {
        minLength: 1,
        maxLength: 20,
      },
    );
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        userId = freshUser();
        for (const length of lengths) {
          await answer(length);
          const { bytes, counted } = await stored();
          const sum = bytes.reduce((total, each) => total + each, 0);
          expect(sum).toBeLessThanOrEqual(counted);
          expect(counted).toBeLessThanOrEqual(limit);
          // The latest answers are stored, except those that alone exceed the limit.
          const possible = bytes.filter((each, n) => each > 0 || (lengths[n] ?? 0) < 9_988);
          expect(possible.slice(possible.findIndex((each) => each > 0)).includes(0)).toBe(false);
        }
      }),
      { numRuns: full ? 100 : 15 },
    );
  });

  it('have a separate limit for every user', async () => {
    const first = await answer(9_000);
    const one = userId;
    userId = freshUser();
    await answer(9_000);
    userId = one;
    const again = await write(first, () => Promise.reject(new Error('ran twice')));
    expect(again).toBe('x'.repeat(9_000));
  });

  it('do not include an answer above the limit, which deletes no other', async () => {
    await answer(1_000);
    await answer(limit);
    expect((await stored()).bytes.map((each) => each > 0)).toEqual([true, false]);
  });

  it('are counted again if the counter is too high, e.g. after a sweep', async () => {
    await answer(1_000);
    for (const table of ['request', 'answer'])
      await owner.query(`DELETE FROM sync.${table} WHERE user_id = $1`, [userId]);
    for (let n = 0; n < 9; n += 1) await answer(1_000);
    expect((await stored()).bytes.every((each) => each > 0)).toBe(true);
    expect((await stored()).counted).toBeLessThanOrEqual(limit);
  });
});

describe('a request with a deleted answer', () => {
  /** Runs a write, and more writes until its answer is dropped. */
  async function evicted(): Promise<{ requestId: string; stamp: string }> {
    const requestId = randomUUID();
    const stamp = await write(requestId, async (transaction) => {
      transaction.sendWithCommit(addEffect, [userId, transaction.stamp]);
      return transaction.stamp;
    });
    for (let n = 0; n < 2; n += 1) await answer(9_000);
    return { requestId, stamp };
  }

  it('runs again under its first stamp, and never has another effect', async () => {
    const { requestId, stamp } = await evicted();
    const [before, clock] = [await effects(), await database.read(clockOf, [userId])];
    for (let n = 0; n < 3; n += 1) {
      const again = await write(requestId, async (transaction) => {
        await transaction.query(addEffect, [userId, transaction.stamp]);
        transaction.sendWithCommit(addEffect, [userId, transaction.stamp]);
        return { stamp: transaction.stamp, repeated: transaction.repeated };
      });
      expect(again).toEqual({ stamp, repeated: true });
    }
    expect(await effects()).toBe(before);
    expect(await database.read(clockOf, [userId])).toEqual(clock);
  });

  it('fails like a new request, and changes nothing', async () => {
    const { requestId } = await evicted();
    const clock = await database.read(clockOf, [userId]);
    for (let n = 0; n < 2; n += 1) {
      const again = write(requestId, () => Promise.reject(new Failure('gone')));
      await expect(again).rejects.toMatchObject({ code: 'gone' });
    }
    expect(await database.read(clockOf, [userId])).toEqual(clock);
  });
});

describe('the sweep', () => {
  const sweep = (of = database) =>
    new RequestSweep(of, {
      warn: (line: unknown) => expect.fail(JSON.stringify(line)),
    }).sweep();
  /** Adds markers of this age, each with an answer. */
  const add = async (minutes: number, count = 1) => {
    await owner.query(
      `WITH made AS (
         INSERT INTO sync.request (user_id, request_id, stamp, created_at)
         SELECT $1, gen_random_uuid(), now(), now() - $2 * interval '1 minute'
         FROM generate_series(1, $3::int)
         RETURNING *
       )
       INSERT INTO sync.answer (user_id, request_id, stamp, bytes, answer)
       SELECT user_id, request_id, stamp, 2, '{}' FROM made`,
      [userId, minutes, count],
    );
  };
  const ages = async () => {
    const { rows } = await owner.query<{ minutes: number; answered: boolean }>(
      `SELECT round(extract(epoch FROM now() - r.created_at) / 60)::int AS minutes,
         a.answer IS NOT NULL AS answered
       FROM sync.request r FULL JOIN sync.answer a USING (user_id, request_id) ORDER BY 1`,
    );
    return rows;
  };
  beforeEach(() => owner.query('DELETE FROM sync.request; DELETE FROM sync.answer'));

  it.each(['none', 'citus'] as const)(
    'removes only markers older than an hour, with their answers; distribution: %s',
    async (distribution) => {
      for (const minutes of [0, 59, 61, 10_000]) await add(minutes);
      await add(120, 6_000);
      await sweep(new Database(database.pool, true, limit, false, distribution));
      expect(await ages()).toEqual([
        { minutes: 0, answered: true },
        { minutes: 59, answered: true },
      ]);
    },
  );

  it('does not wait for a write that deletes answers, and does not delay it', async () => {
    await add(61, 20);
    // The newest answer fills the limit, so the write deletes all others, as the sweep would.
    await write(randomUUID(), async () => 'x'.repeat(limit - 12));
    await owner.query('BEGIN');
    try {
      await owner.query(
        'SELECT FROM sync.answer WHERE user_id = $1 AND bytes = 2 LIMIT 5 FOR UPDATE',
        [userId],
      );
      await answer(20);
    } finally {
      await owner.query('ROLLBACK');
    }
    await sweep();
    expect((await ages()).map(({ minutes }) => minutes)).toEqual([0, 0]);
  });
});

const clockOf = statement('test.clock', 'SELECT stamp FROM sync.user_clock WHERE user_id = $1');
