import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure, JsonText } from '#contracts';
import { eventually, Fixture, type FixtureDatabase, freshUser, TcpProxy } from '#testing';
import { Database, type Transaction, type Write } from './database.js';
import { createPool } from './pool.js';
import { type Bound, statement } from './statement.js';

const addEffect = statement(
  'test.add',
  'INSERT INTO public.effects (user_id, name) VALUES ($1, $2)',
);
const selectEffects = statement(
  'test.select',
  'SELECT name FROM public.effects WHERE user_id = $1 ORDER BY name',
);
const fail = statement('test.fail', 'SELECT 1 / $1::int');
const backendPid = statement('test.pid', 'SELECT pg_backend_pid() AS pid');

const fixture = new Fixture();
let urls: FixtureDatabase['urls'];
let owner: FixtureDatabase['owner'];
let database: Database;
let userId: string;

function open(url: string, applicationName: string): Database {
  return new Database(createPool({ url, poolSize: 1, applicationName }));
}

beforeAll(async () => {
  ({ urls, owner } = await fixture.database('episode'));
  await owner.query(
    'CREATE TABLE public.effects (user_id uuid, name text); GRANT ALL ON public.effects TO PUBLIC',
  );
  database = open(urls.episode, 'first');
  fixture.onClose(() => database.close());
});
afterAll(() => fixture.close());

beforeEach(() => {
  userId = freshUser();
});

const effects = async () =>
  (await database.read<{ name: string }>(selectEffects, [userId])).map(({ name }) => name);
const reads = (): Bound<{ name: string }> => [selectEffects, [userId]];
const failing = (error: unknown) => () => Promise.reject(error as Error);

function a(write: Partial<Write<{ name: string }>> = {}): Write<{ name: string }> {
  return {
    userId,
    requestId: randomUUID(),
    changes: [],
    smallAnswer: true,
    remainingMs: () => 5_000,
    ...write,
  };
}

async function add(transaction: Transaction): Promise<string> {
  transaction.sendWithCommit(addEffect, [userId, 'one']);
  return 'added';
}

/** Returns the activity of an application's backends. */
async function activity(applicationName: string) {
  const { rows } = await owner.query<{ state: string; query: string; waiting: boolean }>(
    `SELECT state, query, wait_event_type IS NOT DISTINCT FROM 'Lock' AS waiting
     FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = $1`,
    [applicationName],
  );
  return rows;
}

describe('the first read of a write', () => {
  it('is passed to the callback of the write', async () => {
    await database.write(a(), add);
    expect(await database.write(a({ reads: reads() }), async ({ found }) => found)).toEqual([
      { name: 'one' },
    ]);
    expect(await database.write(a(), async ({ found }) => found)).toEqual([]);
  });

  it('is sent before the lock, runs under it, and sees earlier writes of the user', async () => {
    const proxy = await TcpProxy.to(urls.episode);
    const second = open(proxy.url, 'second');
    let commit: () => void = () => undefined;
    const earlier = database.write(a(), async (transaction) => {
      await new Promise<void>((resolve) => (commit = resolve));
      return add(transaction);
    });
    await eventually(async () =>
      expect(await activity('first')).toMatchObject([{ state: 'idle in transaction' }]),
    );
    const later = second.write(a({ reads: reads() }), async ({ found }) => found);
    await eventually(async () =>
      expect(await activity('second')).toMatchObject([{ waiting: true }]),
    );
    // Stops receiving data here: Postgres runs the read before this process knows of the lock.
    proxy.hold();
    commit();
    await earlier;
    const hasRead = { state: 'idle in transaction', query: selectEffects.text };
    await eventually(async () => expect(await activity('second')).toMatchObject([hasRead]));
    proxy.release();
    expect(await later).toEqual([{ name: 'one' }]);
    await second.close();
    proxy.close();
  });

  it('does not change the answer of a repeated request', async () => {
    const requestId = randomUUID();
    const write = () =>
      database.write(a({ requestId, reads: reads() }), async ({ found }) => found.length);
    expect(await write()).toBe(0);
    await database.write(a(), add);
    expect(await write()).toBe(0);
    const other = database.write(a({ requestId, reads: reads(), fingerprint: 'ff' }), add);
    await expect(other).rejects.toMatchObject({ code: 'invalid' });
    expect(await effects()).toEqual(['one']);
  });

  it('fails the write if it fails, stores nothing and leaves the connection usable', async () => {
    const requestId = randomUUID();
    const [before] = await database.read(backendPid, []);
    await expect(database.write(a({ requestId, reads: [fail, [0]] }), add)).rejects.toMatchObject({
      code: '22012',
    });
    expect(await effects()).toEqual([]);
    expect(await database.write(a({ requestId }), add)).toBe('added');
    expect(await database.read(backendPid, [])).toEqual([before]);
  });

  it('is unavailable if the lock takes too long, without an unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const collect = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', collect);
    await owner.query('BEGIN');
    await owner.query('SELECT sync.lock_clock($1)', [userId]);
    try {
      const late = database.write(a({ reads: reads(), remainingMs: () => 100 }), add);
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', collect);
      await owner.query('ROLLBACK');
    }
    expect(await database.write(a({ reads: reads() }), add)).toBe('added');
    expect(await effects()).toEqual(['one']);
  });
});

describe('the last statements of a write', () => {
  it('take effect with the commit, in their order, and not before', async () => {
    const rename = statement(
      'test.rename',
      `UPDATE public.effects SET name = name || ' of two' WHERE user_id = $1`,
    );
    const seen = await database.write(a(), async (transaction) => {
      await add(transaction);
      transaction.sendWithCommit(rename, [userId]);
      return transaction.query(selectEffects, [userId]);
    });
    expect(seen).toEqual([]);
    expect(await effects()).toEqual(['one of two']);
  });

  it.each([new Failure('not_found'), new Failure('unavailable'), new TypeError('a fault of ours')])(
    'do not run if the write throws: %s',
    async (error) => {
      const thrown = database.write(a(), (transaction) => add(transaction).then(failing(error)));
      await expect(thrown).rejects.toMatchObject({ message: error.message });
      expect(await effects()).toEqual([]);
    },
  );

  it('fail the write if one fails, store nothing and leave the connection usable', async () => {
    const requestId = randomUUID();
    const [before] = await database.read(backendPid, []);
    const failed = database.write(a({ requestId }), async (transaction) => {
      await add(transaction);
      transaction.sendWithCommit(fail, [0]);
      return add(transaction);
    });
    await expect(failed).rejects.toMatchObject({ code: '22012' });
    expect(await effects()).toEqual([]);
    expect(await database.write(a({ requestId }), add)).toBe('added');
    expect(await effects()).toEqual(['one']);
    expect(await database.read(backendPid, [])).toEqual([before]);
  });
});

describe('an answer', () => {
  const stored = async (requestId: string) => {
    const { rows } = await owner.query<{ answer: string }>(
      'SELECT answer::text FROM sync.answer WHERE user_id = $1 AND request_id = $2',
      [userId, requestId],
    );
    return rows.map(({ answer }) => answer);
  };

  it('that is a JSON text is stored as JSON and repeated as the same text', async () => {
    const requestId = randomUUID();
    const value = { title: 'ä 😀 \n\t\0 \ud800 "\\', b: 1, a: [null] };
    const first = await database.write(a({ requestId }), async () => JsonText.of(value));
    expect(await stored(requestId)).toEqual([`{"json":${JSON.stringify(value)}}`]);
    const again = await database.write(a({ requestId }), failing(new Error('ran twice')));
    expect(again).toBeInstanceOf(JsonText);
    expect(String(again)).toBe(String(first));
  });

  it('that is a value is stored as a reply, and a failure as one', async () => {
    const [replied, failed] = [randomUUID(), randomUUID()];
    await database.write(a({ requestId: replied }), async () => ({
      deletionId: 7,
      text: '\0 \ud800',
    }));
    await database
      .write(a({ requestId: failed }), failing(new Failure('gone')))
      .catch(() => undefined);
    expect(await stored(replied)).toEqual(['{"reply":{"deletionId":7,"text":"\\u0000 \\ud800"}}']);
    expect(await stored(failed)).toEqual(['{"failure":{"code":"gone"}}']);
  });
});
