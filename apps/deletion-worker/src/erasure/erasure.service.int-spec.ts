import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRedis, redisConfig } from '#redis';
import { eventually, startRedisServer } from '#testing';
import { call } from '../../../../libs/transport/testing/handler-call.js';
import { ErasedUser } from '../../testing/erased-user.js';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';

let context: WorkerContext;
beforeAll(async () => {
  context = await openWorker();
});
afterAll(() => context.close());

const request = async (userId: string) =>
  (await context.erasures.request({ userId }, call())).status;
const process = (userId: string, stopping = () => false) =>
  context.erasures.process({ userId }, stopping);
const record = async (userId: string) =>
  (await context.owner.query('SELECT * FROM deletion.erasures WHERE user_id = $1', [userId]))
    .rows[0] as Record<string, unknown>;
const clock = async (userId: string) =>
  (await context.owner.query('SELECT * FROM sync.user_clock WHERE user_id = $1', [userId]))
    .rows[0] as Record<string, unknown>;

/** A deletion that no relay has claimed. */
const unsent = expect.stringContaining('PENDING,"2025-01-01 00:00:00+00",0,') as string;

/** Tables without rows of users. */
const ofNobody = [
  'account.clients',
  'feed.feeds',
  'feed.fetches',
  'feed.images',
  'feed.lanes',
  'feed.previews',
  'feed.tasks',
  'feed.touched',
  'sync.events',
  'sync.migrations',
];

describe('a user who is erased', () => {
  it('has no rows left except the clock and the record', async () => {
    const user = await ErasedUser.store(context.owner);
    await request(user.id);
    // First checks that this user has rows in every table with rows of users.
    const { rows } = await context.owner.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c
       JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)' ORDER BY 1`,
    );
    const all = rows.map(({ name }) => name).filter((name) => !ofNobody.includes(name));
    expect(Object.keys(await user.traces())).toEqual(all);
    expect(await process(user.id)).toBe(true);
    expect(Object.keys(await user.traces())).toEqual(['deletion.erasures', 'sync.user_clock']);
    const finished = expect.any(Date) as Date;
    expect(await record(user.id)).toEqual({
      user_id: user.id,
      status: 'SUCCESS',
      requested: finished,
      job_number: expect.any(Number) as number,
      sent_at: expect.toSatisfy((sent) => sent === null || sent instanceof Date) as Date | null,
      removed: '0',
      finished,
      cause: null,
      origin: null,
    });
    expect(await clock(user.id)).toMatchObject({ refused: 3, answer_bytes: '0' });
  });

  it('loses no rows of other users', async () => {
    const [user, other] = [
      await ErasedUser.store(context.owner),
      await ErasedUser.store(context.owner),
    ];
    await request(user.id);
    // The relay has assigned job numbers to the PENDING records of both users.
    await eventually(async () =>
      expect((await other.traces())['deletion.deletions']).not.toContainEqual(unsent),
    );
    const before = await other.traces();
    await process(user.id);
    expect(await other.traces()).toEqual(before);
  });

  it('is refused after the request, also without rows', async () => {
    const userId = randomUUID();
    expect(await request(userId)).toBe('PENDING');
    expect(await process(userId)).toBe(true);
    expect(await clock(userId)).toMatchObject({ refused: 3 });
  });
});

describe('a request for an erasure', () => {
  it('has no effect when repeated, and returns SUCCESS after the end', async () => {
    const user = await ErasedUser.store(context.owner);
    expect(await Promise.all(Array.from({ length: 20 }, () => request(user.id)))).toEqual(
      Array(20).fill('PENDING'),
    );
    const { requested } = await record(user.id);
    expect(await process(user.id)).toBe(true);
    expect(await request(user.id)).toBe('SUCCESS');
    expect(await record(user.id)).toMatchObject({ status: 'SUCCESS', requested });
  });

  it('refuses the user in the same commit, also a disabled one', async () => {
    const user = await ErasedUser.store(context.owner);
    await context.owner.query('SELECT sync.refuse_user($1, 1::smallint)', [user.id]);
    await request(user.id);
    expect(await clock(user.id)).toMatchObject({ refused: 2 });
    await expect(context.service.read({ userId: user.id, deletionId: 1 })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    await expect(context.request(user.id, randomUUID())).rejects.toMatchObject({
      code: 'unauthorized',
    });
  });

  it('starts again after FAILURE', async () => {
    const user = await ErasedUser.store(context.owner);
    await request(user.id);
    await context.owner.query(`SELECT deletion.end_erasure($1, 'FAILURE', 'why', 0::smallint)`, [
      user.id,
    ]);
    expect(await process(user.id)).toBe(false);
    expect(await clock(user.id)).toMatchObject({ refused: 2 });
    expect(await request(user.id)).toBe('PENDING');
    expect(await process(user.id)).toBe(true);
    expect(await record(user.id)).toMatchObject({ status: 'SUCCESS', cause: null });
  });
});

describe('an erasure', () => {
  it('does nothing without a record', async () => {
    const user = await ErasedUser.store(context.owner);
    const before = await user.traces();
    expect(await process(user.id)).toBe(false);
    expect(await user.traces()).toEqual(before);
  });

  it('can stop after any step, and another worker continues', async () => {
    const user = await ErasedUser.store(context.owner, {
      subscriptions: 300,
      names: 8,
      episodes: 4_500,
    });
    await request(user.id);
    // Each attempt starts from the beginning and stops one step later than the previous attempt.
    for (let steps = 0, isDone = false; !isDone; steps += 1)
      isDone = await process(user.id, after(steps)).catch((error: { code: string }) => {
        if (error.code !== 'unavailable') throw error;
        return false;
      });
    expect(Object.keys(await user.traces())).toEqual(['deletion.erasures', 'sync.user_clock']);
  });

  it('that two workers run at the same time ends once', async () => {
    const user = await ErasedUser.store(context.owner, { episodes: 5_000 });
    await request(user.id);
    const ended = await Promise.all([process(user.id), process(user.id), process(user.id)]);
    expect(ended.filter(Boolean)).toHaveLength(1);
    expect(Object.keys(await user.traces())).toEqual(['deletion.erasures', 'sync.user_clock']);
  });

  it('reads the same number of pages per row for a user with eight times the rows', async () => {
    const [some, many] = [await pagesOfRow(60), await pagesOfRow(480)];
    console.log(
      `pages for each row: ${some.toFixed(1)} of 60 subscriptions, ${many.toFixed(1)} of 480`,
    );
    expect(many).toBeLessThan(2 * some);
  }, 120_000);
});

/** Returns a function that returns true after a number of calls. */
function after(steps: number): () => boolean {
  let left = steps;
  return () => (left -= 1) < 0;
}

/**
 * Measures the pages read per row. The user has a number of subscriptions, each with ten guids, ten
 * URLs and ten former guids.
 */
async function pagesOfRow(subscriptions: number): Promise<number> {
  const user = await ErasedUser.store(context.owner, {
    subscriptions,
    names: 10,
    episodes: subscriptions,
  });
  // Counts guids, URLs, a pointer for every other subscription, and episodes in three tables.
  const rows = subscriptions * 40;
  const pages = async () => {
    // Each of the ten connections reports its reads on request, or seconds later.
    const flush = 'SELECT pg_stat_force_next_flush()';
    await context.owner.query(flush);
    const onEach = () => context.database.pool.query(`${flush}, pg_sleep(0.1)`);
    await Promise.all(Array.from({ length: 10 }, onEach));
    const { rows: read } = await context.owner.query<{ pages: number }>(
      `SELECT (blks_hit + blks_read)::int AS pages FROM pg_stat_database
       WHERE datname = current_database()`,
    );
    return (read[0] as { pages: number }).pages;
  };
  await request(user.id);
  const before = await pages();
  const started = performance.now();
  await process(user.id);
  console.log(`${rows} rows in ${(performance.now() - started).toFixed(0)} ms`);
  return ((await pages()) - before) / rows;
}

it('users who are erased together share one AOF rewrite, a later user needs another', async () => {
  const server = await startRedisServer({ durable: true });
  const worker = await openWorker(server.url);
  const redis = connectRedis(redisConfig.parse({ REDIS_URL: server.url }));
  const erase = async (users: readonly string[]) => {
    for (const userId of users) await worker.erasures.request({ userId }, call());
    for (const userId of users)
      expect(await worker.erasures.process({ userId }, () => false)).toBe(true);
  };
  const rewrites = async () =>
    Number(/cmdstat_bgrewriteaof:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]);
  await erase([randomUUID(), randomUUID(), randomUUID()]);
  expect(await rewrites()).toBe(1);
  await erase([randomUUID()]);
  expect(await rewrites()).toBe(2);
  redis.disconnect();
  await worker.close();
  await server.dispose();
});
