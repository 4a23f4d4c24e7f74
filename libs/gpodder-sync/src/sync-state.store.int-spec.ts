import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { type DatabaseWorld, openDatabase } from '../../database/testing/database.world.js';
import { answerList, answerWrite, sessionTimestamp } from './sync-state.store.js';

let world: DatabaseWorld;
let userId: string;
let [credentialId, sessionId] = [randomUUID(), randomUUID()];
let sent = 0;
beforeAll(async () => {
  world = await openDatabase('subscription');
});
afterAll(() => world.close());
beforeEach(() => {
  userId = freshUser();
  [credentialId, sessionId] = [randomUUID(), randomUUID()];
});

const call = (arrivedMs = (sent += 1)) => ({
  arrivedMs,
  ageMs: () => 0,
  remainingMs: () => 10_000,
});
const read = (since: number, at = call(), remembers = true) =>
  answerList(
    world.database,
    { userId, list: 'subscriptions', reader: { credentialId, sessionId, since }, remembers },
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
const change = () => world.database.write(write(), async ({ stamp }) => Date.parse(stamp));
/** Simulates an upload of subscriptions with a change. */
const upload = () =>
  world.database.write(write(false), async (transaction) => {
    const before = transaction.stamp;
    const stamp = Date.parse(await transaction.advance());
    return {
      stamp,
      timestamp: await answerWrite(transaction, { userId, credentialId, sessionId }, before, false),
    };
  });
const clock = async () => {
  const { rows } = await world.owner.query<{ stamp: Date; told: string }>(
    'SELECT stamp, told FROM sync.user_clock WHERE user_id = $1',
    [userId],
  );
  return { stamp: Number(rows[0]?.stamp), told: Number(rows[0]?.told) };
};
/** Returns the number of statements of a read. */
async function statements(run: () => Promise<unknown>): Promise<number> {
  const before = world.statements();
  await run();
  return world.statements() - before;
}

describe('a client that reads a list', () => {
  it('is told a second such that nothing is ever stamped up to the end of the one after it', async () => {
    const stamp = await change();
    const { timestamp } = await read(0);
    expect(timestamp).toBe(Math.ceil(stamp / 1_000));
    expect(await change()).toBeGreaterThan((timestamp + 1) * 1_000);
  });

  it('is told a real second where the user never wrote', async () => {
    const { timestamp } = await read(0);
    expect(timestamp).toBeGreaterThan(1_700_000_000);
    expect(await clock()).toEqual({ stamp: (timestamp + 1) * 1_000, told: timestamp });
  });

  it('with nothing new is told the same by one statement, and leaves no trace', async () => {
    const { timestamp } = await read(0);
    await read(timestamp);
    await read(timestamp);
    const rows = async () =>
      (
        await world.owner.query(
          'SELECT c.xmin, r.xmin, s.xmin FROM sync.user_clock c, sync.readers r, sync.reader_sessions s WHERE c.user_id = $1 AND r.user_id = $1 AND s.user_id = $1',
          [userId],
        )
      ).rows as unknown[];
    const before = await rows();
    expect(await statements(() => read(timestamp))).toBe(1);
    expect(await read(timestamp)).toEqual({
      timestamp,
      since: timestamp,
      initial: false,
      unchanged: true,
    });
    expect(await rows()).toEqual(before);
    expect(before).toHaveLength(1);
  });

  it('is answered from where its last answer went, with a clock of its own ahead of that, too', async () => {
    const { timestamp } = await read(0);
    await change();
    expect(await read(timestamp + 5_000)).toMatchObject({ since: timestamp, unchanged: false });
    // The client sends the same `since` again: the answer can be lost.
    await change();
    expect(await read(timestamp + 5_000)).toMatchObject({ since: timestamp, unchanged: false });
  });

  it('is told the same again where its message comes twice, whatever was written meanwhile', async () => {
    await read(0);
    const at = call();
    const first = await read(0, at);
    await change();
    await read(5);
    const { told } = await clock();
    await change();
    const again = await read(0, at);
    expect(again.timestamp).toBeLessThanOrEqual(told);
    expect(again.timestamp).toBeGreaterThanOrEqual(first.timestamp);
    expect((await clock()).told).toBe(told);
  });

  it('leaves what others are told as it is, where nothing is remembered', async () => {
    const { timestamp } = await read(0);
    await read(timestamp - 7, call(), false);
    const { rows } = await world.owner.query(
      'SELECT asked::int FROM sync.readers WHERE user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ asked: 0 }]);
  });

  it('is unauthorized once the user is refused, and the clock stays', async () => {
    await read(0);
    const before = await clock();
    await world.owner.query('SELECT sync.refuse_user($1, 1::smallint)', [userId]);
    await expect(read(0)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await clock()).toEqual(before);
  });
});

describe('many at the same time', () => {
  it('are told seconds that hold for all writes between them', async () => {
    const told: { timestamp: number; writesBefore: number }[] = [];
    const stamps: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        if (n % 2 === 0) return void stamps.push(await change());
        const { timestamp } = await answerList(
          world.database,
          {
            userId,
            list: 'subscriptions',
            reader: { credentialId: randomUUID(), since: 0 },
            remembers: true,
          },
          call(),
        );
        told.push({ timestamp, writesBefore: stamps.length });
      }),
    );
    const { rows } = await world.owner.query<{ stamp: Date }>(
      'SELECT stamp FROM sync.request WHERE user_id = $1',
      [userId],
    );
    expect(rows).toHaveLength(20);
    for (const { timestamp } of told)
      for (const { stamp } of rows)
        expect(Number(stamp) <= timestamp * 1_000 || Number(stamp) > (timestamp + 1) * 1_000).toBe(
          true,
        );
  });

  it('with one app password leave one reader', async () => {
    await Promise.all(Array.from({ length: 20 }, () => read(0)));
    const { rows } = await world.owner.query('SELECT FROM sync.readers WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('who are told anything wait for a write that has begun', async () => {
    let answered = false;
    let reading: Promise<unknown> | undefined;
    const stamp = await world.database.write(write(), async (transaction) => {
      reading = read(0).then((told) => ((answered = true), told));
      await transaction.query({ name: 'test.one', text: 'SELECT pg_sleep(0)' }, []);
      expect(answered).toBe(false);
      return Date.parse(transaction.stamp);
    });
    expect(await reading).toMatchObject({ timestamp: Math.ceil(stamp / 1_000) });
  });
});

describe('an upload', () => {
  it('of who has everything is not answered again', async () => {
    await read(0);
    const { stamp, timestamp } = await upload();
    expect(timestamp * 1_000).toBeGreaterThanOrEqual(stamp);
    expect(await read(timestamp)).toMatchObject({ timestamp, since: timestamp, unchanged: true });
  });

  it('does not jump over what another client wrote after the download', async () => {
    const { timestamp } = await read(0);
    await change();
    expect((await upload()).timestamp).toBe(timestamp);
  });

  it('of an unknown session is answered 1, and one that writes nothing what the session was told', async () => {
    expect(await sessionTimestamp(world.database, userId, 'subscriptions', sessionId)).toBe(1);
    expect(await sessionTimestamp(world.database, userId, 'subscriptions', undefined)).toBe(1);
    expect((await upload()).timestamp).toBe(1);
    const { timestamp } = await read(0);
    expect(await sessionTimestamp(world.database, userId, 'subscriptions', sessionId)).toBe(
      timestamp,
    );
    expect(await sessionTimestamp(world.database, userId, 'episodes', sessionId)).toBe(1);
  });

  it('that turns out to change nothing leaves nothing, not even its marker', async () => {
    await read(0);
    const before = await clock();
    await world.database.write(write(false), async ({ stamp }) => stamp);
    expect(await clock()).toEqual(before);
    const { rows } = await world.owner.query('SELECT FROM sync.request WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toEqual([]);
  });
});

it('readers and sessions beyond what is kept of a user make room, the ones longest unused', async () => {
  await read(0);
  await world.owner.query(
    `INSERT INTO sync.readers (user_id, credential_id, list, asked, told, safe, arrived, used)
     SELECT $1, gen_random_uuid(), 1, 1, 1, 1, 1, now() - interval '2 days' FROM generate_series(1, 500)`,
    [userId],
  );
  const mine = credentialId;
  credentialId = randomUUID();
  await read(0);
  const { rows } = await world.owner.query<{ id: string }>(
    'SELECT credential_id AS id FROM sync.readers WHERE user_id = $1',
    [userId],
  );
  expect(rows).toHaveLength(400);
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining([mine, credentialId]));
});

it('no clock can be behind what clients were told', async () => {
  await read(0);
  const back = world.owner.query(
    `UPDATE sync.user_clock SET stamp = '2020-01-01' WHERE user_id = $1`,
    [userId],
  );
  await expect(back).rejects.toMatchObject({ code: '23514' });
});
