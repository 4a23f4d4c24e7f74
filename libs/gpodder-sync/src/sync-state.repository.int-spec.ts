import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { type DatabaseContext, openDatabase } from '../../database/testing/database-context.js';
import { answerList, answerWrite, sessionTimestamp } from './sync-state.repository.js';

let context: DatabaseContext;
let userId: string;
let [credentialId, sessionId] = [randomUUID(), randomUUID()];
let clientTime = 0;
beforeAll(async () => {
  context = await openDatabase('subscription');
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
  [credentialId, sessionId] = [randomUUID(), randomUUID()];
});

const call = (arrivedMs = (clientTime += 1)) => ({
  arrivedMs,
  ageMs: () => 0,
  remainingMs: () => 10_000,
});
const read = (since: number, at = call(), updatesState = true) =>
  answerList(
    context.database,
    { userId, list: 'subscriptions', reader: { credentialId, sessionId, since }, updatesState },
    at,
  );
const write = (advances = true) => ({
  userId,
  requestId: randomUUID(),
  changes: [],
  smallAnswer: true,
  advances,
  remainingMs: () => 10_000,
});
/** Simulates a write of another client. Returns its stamp. */
const change = () => context.database.write(write(), async ({ stamp }) => Date.parse(stamp));
/** Simulates an upload of subscriptions with a change. */
const upload = () =>
  context.database.write(write(false), async (transaction) => {
    const before = transaction.stamp;
    const stamp = Date.parse(await transaction.advance());
    const client = { userId, credentialId, sessionId };
    return { stamp, timestamp: await answerWrite(transaction, client, before, false) };
  });
const clock = async () => {
  const { rows } = await context.owner.query<{ stamp: Date; answered: string }>(
    'SELECT stamp, answered_second AS answered FROM sync.user_clock WHERE user_id = $1',
    [userId],
  );
  return { stamp: Number(rows[0]?.stamp), answered: Number(rows[0]?.answered) };
};
/** Returns the number of statements that a function runs. */
async function statementsOf(run: () => Promise<unknown>): Promise<number> {
  const before = context.statements();
  await run();
  return context.statements() - before;
}

describe('answerList', () => {
  it('returns a second, and no later stamp is within the next one', async () => {
    const stamp = await change();
    const { timestamp } = await read(0);
    expect(timestamp).toBe(Math.ceil(stamp / 1_000));
    expect(await change()).toBeGreaterThan((timestamp + 1) * 1_000);
  });

  it('returns a current second for a user without writes', async () => {
    const { timestamp } = await read(0);
    expect(timestamp).toBeGreaterThan(1_700_000_000);
    expect(await clock()).toEqual({ stamp: (timestamp + 1) * 1_000, answered: timestamp });
  });

  it('without changes returns the same answer with one statement, and writes nothing', async () => {
    const { timestamp } = await read(0);
    await read(timestamp);
    await read(timestamp);
    const rows = async () =>
      (
        await context.owner.query(
          `SELECT c.xmin, r.xmin, s.xmin
           FROM sync.user_clock c, sync.readers r, sync.reader_sessions s
           WHERE c.user_id = $1 AND r.user_id = $1 AND s.user_id = $1`,
          [userId],
        )
      ).rows as unknown[];
    const before = await rows();
    expect(await statementsOf(() => read(timestamp))).toBe(1);
    expect(await read(timestamp)).toEqual({
      timestamp,
      since: timestamp,
      initial: false,
      unchanged: true,
    });
    expect(await rows()).toEqual(before);
    expect(before).toHaveLength(1);
  });

  it('starts at the last answer for a client whose own clock is ahead', async () => {
    const { timestamp } = await read(0);
    await change();
    expect(await read(timestamp + 5_000)).toMatchObject({ since: timestamp, unchanged: false });
    // The same `since` again: the first answer can have been lost.
    await change();
    expect(await read(timestamp + 5_000)).toMatchObject({ since: timestamp, unchanged: false });
  });

  it('returns no new second for a redelivery after other reads and writes', async () => {
    await read(0);
    const at = call();
    const first = await read(0, at);
    await change();
    await read(5);
    const { answered } = await clock();
    await change();
    const again = await read(0, at);
    expect(again.timestamp).toBeLessThanOrEqual(answered);
    expect(again.timestamp).toBeGreaterThanOrEqual(first.timestamp);
    expect((await clock()).answered).toBe(answered);
  });

  it('does not change the state of the reader without updatesState', async () => {
    const { timestamp } = await read(0);
    await read(timestamp - 7, call(), false);
    const { rows } = await context.owner.query(
      'SELECT since::int FROM sync.readers WHERE user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ since: 0 }]);
  });

  it('throws unauthorized for a refused user, and the clock stays', async () => {
    await read(0);
    const before = await clock();
    await context.owner.query('SELECT sync.refuse_user($1, 1::smallint)', [userId]);
    await expect(read(0)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await clock()).toEqual(before);
  });
});

describe('concurrent reads and writes', () => {
  it('no write gets a stamp within the second after an answered one', async () => {
    const answered: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        if (n % 2 === 0) return void (await change());
        const { timestamp } = await answerList(
          context.database,
          {
            userId,
            list: 'subscriptions',
            reader: { credentialId: randomUUID(), since: 0 },
            updatesState: true,
          },
          call(),
        );
        answered.push(timestamp);
      }),
    );
    const { rows } = await context.owner.query<{ stamp: Date }>(
      'SELECT stamp FROM sync.request WHERE user_id = $1',
      [userId],
    );
    expect(rows).toHaveLength(20);
    for (const timestamp of answered)
      for (const { stamp } of rows)
        expect(Number(stamp) <= timestamp * 1_000 || Number(stamp) > (timestamp + 1) * 1_000).toBe(
          true,
        );
  });

  it('several reads with one app password store one K', async () => {
    await Promise.all(Array.from({ length: 20 }, () => read(0)));
    const { rows } = await context.owner.query('SELECT FROM sync.readers WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('a read waits for a started write', async () => {
    let answered = false;
    let reading: Promise<unknown> | undefined;
    const stamp = await context.database.write(write(), async (transaction) => {
      reading = read(0).then((answer) => ((answered = true), answer));
      await transaction.query({ name: 'test.one', text: 'SELECT pg_sleep(0)' }, []);
      expect(answered).toBe(false);
      return Date.parse(transaction.stamp);
    });
    expect(await reading).toMatchObject({ timestamp: Math.ceil(stamp / 1_000) });
  });
});

describe('an upload', () => {
  it('of a client that had all rows is not in its next download', async () => {
    await read(0);
    const { stamp, timestamp } = await upload();
    expect(timestamp * 1_000).toBeGreaterThanOrEqual(stamp);
    expect(await read(timestamp)).toMatchObject({ timestamp, since: timestamp, unchanged: true });
  });

  it('returns no second after a write of another client', async () => {
    const { timestamp } = await read(0);
    await change();
    expect((await upload()).timestamp).toBe(timestamp);
  });

  it('without a write returns the last second of its session, or 1', async () => {
    expect(await sessionTimestamp(context.database, userId, 'subscriptions', sessionId)).toBe(1);
    expect(await sessionTimestamp(context.database, userId, 'subscriptions', undefined)).toBe(1);
    expect((await upload()).timestamp).toBe(1);
    const { timestamp } = await read(0);
    expect(await sessionTimestamp(context.database, userId, 'subscriptions', sessionId)).toBe(
      timestamp,
    );
    expect(await sessionTimestamp(context.database, userId, 'episodes', sessionId)).toBe(1);
  });

  it('that changes nothing stores nothing, not even its marker', async () => {
    await read(0);
    const before = await clock();
    await context.database.write(write(false), async ({ stamp }) => stamp);
    expect(await clock()).toEqual(before);
    const { rows } = await context.owner.query('SELECT FROM sync.request WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toEqual([]);
  });
});

it('the least recently used K of a user are deleted above the limit', async () => {
  await read(0);
  await context.owner.query(
    `INSERT INTO sync.readers (user_id, credential_id, list, since, answered_second, safe_second,
       received_ms, used)
     SELECT $1, gen_random_uuid(), 1, 1, 1, 1, 1, now() - interval '2 days'
     FROM generate_series(1, 500)`,
    [userId],
  );
  const recent = credentialId;
  credentialId = randomUUID();
  await read(0);
  const { rows } = await context.owner.query<{ id: string }>(
    'SELECT credential_id AS id FROM sync.readers WHERE user_id = $1',
    [userId],
  );
  expect(rows).toHaveLength(400);
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining([recent, credentialId]));
});

it('a constraint rejects a clock before the end of the second after T', async () => {
  await read(0);
  const back = context.owner.query(
    `UPDATE sync.user_clock SET stamp = '2020-01-01' WHERE user_id = $1`,
    [userId],
  );
  await expect(back).rejects.toMatchObject({ code: '23514' });
});
