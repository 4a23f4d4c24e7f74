import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { Fixture, type FixtureDatabase, freshUser } from '#testing';
import { Database, type Transaction, type Write } from './database.js';
import { createPool } from './pool.js';
import { statement } from './statement.js';

const full = Boolean(process.env.TEST_FULL);
const [aFingerprint, another] = ['0a'.repeat(32), '0b'.repeat(32)];
const addEffect = statement(
  'test.add_stamp',
  'INSERT INTO public.effects (user_id, stamp) VALUES ($1, $2)',
);
const selectEffects = statement(
  'test.select_clock_and_effects',
  `SELECT coalesce((SELECT stamp FROM sync.user_clock WHERE user_id = $1), 'epoch') AS clock,
     (SELECT json_agg(to_char(stamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      FROM public.effects
      WHERE user_id = $1) AS stamps`,
);

const fixture = new Fixture();
let urls: FixtureDatabase['urls'];
let owner: FixtureDatabase['owner'];
let database: Database;
let userId: string;

beforeAll(async () => {
  ({ urls, owner, database } = await fixture.database('episode'));
  await owner.query(
    `CREATE TABLE public.effects (user_id uuid, stamp timestamptz(3));
     GRANT ALL ON public.effects TO PUBLIC`,
  );
});
afterAll(() => fixture.close());

beforeEach(() => {
  userId = freshUser();
});

/** Runs a write whose only effect is its stamp. */
function write(
  options: Partial<Write> & { timeLimitMs?: number } = {},
  run = addOne,
): Promise<string> {
  const { timeLimitMs = 5_000, ...more } = options;
  const usual = {
    userId,
    requestId: randomUUID(),
    changes: [],
    smallAnswer: true,
    remainingMs: () => timeLimitMs,
  };
  return database.write({ ...usual, ...more }, run);
}

async function addOne(transaction: Transaction): Promise<string> {
  await transaction.query(addEffect, [userId, transaction.stamp]);
  return transaction.stamp;
}

/** Reads the clock and the effects from one snapshot. */
async function seen(): Promise<{ clock: string; stamps: string[] }> {
  const [row] = await database.read<{ clock: string; stamps: string[] | null }>(selectEffects, [
    userId,
  ]);
  return { clock: row?.clock ?? '', stamps: (row?.stamps ?? []).sort() };
}

describe('a request id', () => {
  it('has one effect and one answer if it arrives many times simultaneously', async () => {
    const requestId = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => write({ requestId })));
    expect(new Set(answers).size).toBe(1);
    expect(await seen()).toEqual({ clock: answers[0], stamps: [answers[0]] });
  });

  it('adds nothing to the outbox if events are off', async () => {
    await write({ changes: ['episodes'] }, async (transaction) => {
      transaction.addEventKinds('subscriptions');
      return transaction.stamp;
    });
    expect(
      (await owner.query('SELECT FROM sync.events WHERE user_id = $1', [userId])).rows,
    ).toEqual([]);
  });

  it('belongs to one user', async () => {
    const requestId = randomUUID();
    await write({ requestId });
    userId = freshUser();
    const second = await write({ requestId });
    expect(await seen()).toEqual({ clock: second, stamps: [second] });
  });

  it('stores a failure as its answer, without an effect', async () => {
    const requestId = randomUUID();
    const before = await write();
    const failing = write({ requestId }, async (transaction) => {
      await addOne(transaction);
      throw new Failure('not_found');
    });
    await expect(failing).rejects.toMatchObject({ code: 'not_found' });
    await expect(write({ requestId })).rejects.toMatchObject({ code: 'not_found' });
    expect(await seen()).toEqual({ clock: before, stamps: [before] });
  });

  it.each([new Failure('unavailable'), new TypeError('a fault of ours')])(
    'is free again after an error that is not an answer: %s',
    async (error) => {
      const requestId = randomUUID();
      await expect(write({ requestId }, () => Promise.reject(error))).rejects.toBe(error);
      const stamp = await write({ requestId });
      expect(await seen()).toEqual({ clock: stamp, stamps: [stamp] });
    },
  );

  it('without a stored answer has one effect: a repetition is rolled back', async () => {
    const requestId = randomUUID();
    const stamps = await Promise.all(
      Array.from({ length: 5 }, () => write({ requestId, changes: [], smallAnswer: false })),
    );
    expect(new Set(stamps).size).toBe(1);
    const later = await write();
    const again = await write(
      { requestId, changes: [], smallAnswer: false },
      async (transaction) => {
        transaction.sendWithCommit(addEffect, [userId, transaction.stamp]);
        return `${await addOne(transaction)} ${transaction.repeated}`;
      },
    );
    expect(again).toBe(`${stamps[0]} true`);
    expect(await seen()).toEqual({ clock: later, stamps: [stamps[0], later] });
  });

  it('is free after an hour, also for another request', async () => {
    const [kept, old] = [randomUUID(), randomUUID()];
    const first = await write({ requestId: kept });
    await write({ requestId: old, fingerprint: aFingerprint });
    const age = 'UPDATE sync.request SET created_at = now() - $2::interval WHERE request_id = $1';
    await owner.query(age, [kept, '59 minutes']);
    await owner.query(age, [old, '61 minutes']);
    expect(await write({ requestId: kept })).toBe(first);
    const again = await write({ requestId: old, fingerprint: another });
    expect((await seen()).clock).toBe(again);
    expect((await seen()).stamps).toHaveLength(3);
    expect(await write({ requestId: old, fingerprint: another })).toBe(again);
  });
});

describe("a client's key", () => {
  const keyed = (fingerprint = aFingerprint) => ({
    requestId,
    fingerprint,
    changes: [],
    smallAnswer: false,
  });
  const forgetAnswers = () => owner.query('DELETE FROM sync.answer WHERE user_id = $1', [userId]);
  let requestId: string;
  beforeEach(() => {
    requestId = randomUUID();
  });

  it('has a repeatable answer of any size', async () => {
    const first = await write(keyed());
    expect(await write(keyed(), () => Promise.reject(new Error('ran twice')))).toBe(first);
  });

  it('that was used for another request is invalid, and changes nothing', async () => {
    const first = await write(keyed());
    for (let n = 0; n < 2; n += 1)
      await expect(write(keyed(another))).rejects.toMatchObject({ code: 'invalid' });
    expect(await seen()).toEqual({ clock: first, stamps: [first] });
    expect(await write(keyed())).toBe(first);
  });

  it('of another request is invalid, even if that failed or its answer was deleted', async () => {
    await write(keyed(), () => Promise.reject(new Failure('not_found'))).catch(() => undefined);
    await expect(write(keyed(another))).rejects.toMatchObject({ code: 'invalid' });
    await expect(write(keyed())).rejects.toMatchObject({ code: 'not_found' });
    await forgetAnswers();
    await expect(write(keyed(another))).rejects.toMatchObject({ code: 'invalid' });
    expect((await seen()).stamps).toEqual([]);
  });
});

describe('the stored rows of a write', () => {
  const stored = async () => {
    const { rows } = await owner.query<{ marker: number; answer: string | null; counted: number }>(
      `SELECT pg_column_size(r.*) AS marker, a.answer::text AS answer,
         c.answer_bytes::int AS counted
       FROM sync.user_clock c JOIN sync.request r USING (user_id)
       LEFT JOIN sync.answer a USING (user_id, request_id)
       WHERE c.user_id = $1`,
      [userId],
    );
    return rows;
  };
  const large = () => Promise.resolve('x'.repeat(1_000));

  it('without an Idempotency-Key are only a marker', async () => {
    await write({ smallAnswer: false }, large);
    expect(await stored()).toEqual([
      { marker: expect.any(Number) as number, answer: null, counted: 0 },
    ]);
    expect((await stored())[0]?.marker).toBeLessThanOrEqual(80);
  });

  it.each([
    ['with a key', { smallAnswer: false, fingerprint: aFingerprint }],
    ['that has a small answer', { smallAnswer: true }],
  ])('%s is a marker and the answer', async (_, options) => {
    await write(options, large);
    expect(await stored()).toMatchObject([
      { answer: `{"reply":"${'x'.repeat(1_000)}"}`, counted: 1_012 },
    ]);
  });
});

describe("the user's clock", () => {
  it('is always later than before, at any time of the database', async () => {
    const ahead = '2999-01-01T00:00:00.000Z';
    await owner.query('INSERT INTO sync.user_clock VALUES ($1, $2)', [userId, ahead]);
    expect(await write()).toBe('2999-01-01T00:00:00.001Z');
    expect(await write()).toBe('2999-01-01T00:00:00.002Z');
  });

  it("is the database's time in milliseconds", async () => {
    const { rows } = await owner.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const stamp = await write();
    const passed = Date.parse(stamp) - (rows[0]?.now.getTime() ?? 0);
    expect(stamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(passed >= 0 && passed < 5_000).toBe(true);
  });

  it('shows the stamps of 16 concurrent writers in their order', async () => {
    const writesEach = full ? 100 : 15;
    let writing = true;
    const missed: string[] = [];
    const poll = async () => {
      let since = new Date(0).toISOString();
      let known = new Set<string>();
      for (let last = false; !last;) {
        last = !writing;
        const { clock, stamps } = await seen();
        missed.push(...stamps.filter((stamp) => stamp <= since && !known.has(stamp)));
        missed.push(...stamps.filter((stamp) => stamp > clock));
        [since, known] = [clock, new Set(stamps)];
      }
    };
    const polls = [poll(), poll()];
    const writers = Array.from({ length: 16 }, async () => {
      const stamps: string[] = [];
      for (let n = 0; n < writesEach; n++) stamps.push(await write());
      expect(stamps).toEqual([...stamps].sort());
      return stamps;
    });
    const stamps = (await Promise.all(writers)).flat();
    writing = false;
    await Promise.all(polls);
    expect(missed).toEqual([]);
    expect((await seen()).stamps).toEqual(stamps.sort());
    expect(new Set(stamps).size).toBe(16 * writesEach);
  });
});

describe('the deadline of a write', () => {
  it('is unavailable and runs nothing when its time is up', async () => {
    for (const timeLimitMs of [0, -1_000, 0.9]) {
      await expect(write({ timeLimitMs })).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect(await seen()).toEqual({ clock: '1970-01-01T00:00:00.000Z', stamps: [] });
  });

  it('limits every statement', async () => {
    const slow = statement('test.slow', 'SELECT pg_sleep(10)');
    const sleeping = write({ timeLimitMs: 200 }, async (transaction) => {
      await addOne(transaction);
      await transaction.query(slow, []);
      return transaction.stamp;
    });
    await expect(sleeping).rejects.toMatchObject({ code: 'unavailable' });
    expect((await seen()).stamps).toEqual([]);
  });

  it('resets the limit of its connection', async () => {
    await write({ timeLimitMs: 300 });
    const [row] = await database.read<{ limit: string }>(
      statement('test.limit', "SELECT current_setting('statement_timeout') AS limit"),
      [],
    );
    expect(row).toEqual({ limit: '10s' });
  });
});

it.each([
  ['none', 'force_generic_plan'],
  ['citus', 'force_custom_plan'],
] as const)(
  'distributed with %s, reads and writes use the plan mode %s',
  async (distribution, mode) => {
    const pool = createPool({ url: urls.episode, poolSize: 1, distribution });
    const distributed = new Database(pool, true, undefined, false, distribution);
    const plans = statement('test.plans', "SELECT current_setting('plan_cache_mode') AS mode");
    expect(await distributed.read(plans, [])).toEqual([{ mode }]);
    const inWrite = await distributed.write(
      {
        userId,
        requestId: randomUUID(),
        changes: [],
        smallAnswer: true,
        remainingMs: () => 5_000,
      },
      ({ query }) => query<{ mode: string }>(plans, []),
    );
    expect(inWrite).toEqual([{ mode }]);
    await distributed.close();
  },
);

it('runs without named statements too, as behind a pooler', async () => {
  const unprepared = new Database(createPool({ url: urls.episode, poolSize: 1 }), false);
  const requestId = randomUUID();
  const once = () =>
    unprepared.write(
      { userId, requestId, changes: [], smallAnswer: true, remainingMs: () => 5_000 },
      addOne,
    );
  expect(await once()).toBe(await once());
  const named = await unprepared.read<{ n: number }>(
    statement('test.named', 'SELECT count(*) AS n FROM pg_prepared_statements'),
    [],
  );
  expect(named).toEqual([{ n: 0 }]);
  await unprepared.close();
});
