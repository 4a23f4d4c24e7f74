import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, freshUser, startPostgresServer, TcpProxy } from '#testing';
import { Database, type Transaction } from './database.js';
import type { PgTransaction } from './pg-transaction.js';
import { createPool } from './pool.js';
import { statement } from './statement.js';
import { countdown } from './user-queue.js';

/** A separate server, which the tests suspend and stop. */
let server: Awaited<ReturnType<typeof startPostgresServer>>;
let database: Database;

const timeLimitMs = 300;
const one = statement('test.one', 'SELECT 1 AS n');
const backendPid = statement('test.pid', 'SELECT pg_backend_pid() AS pid');
const reads = (transaction: PgTransaction) => transaction.query(one, []);
const settled = (attempt: Promise<unknown>) => attempt.catch((error: unknown) => error);
const stamp = (transaction: Transaction) => Promise.resolve(transaction.stamp);

beforeAll(async () => {
  server = await startPostgresServer();
  database = new Database(createPool({ url: server.urls.episode, poolSize: 4 }));
});

afterAll(async () => {
  await database.close();
  await server.dispose();
});

function write(userId = freshUser(), budget = timeLimitMs): Promise<string> {
  return database.write(
    { userId, requestId: randomUUID(), changes: [], smallAnswer: true, remainingMs: () => budget },
    stamp,
  );
}

describe('a write', () => {
  it('is unavailable soon after its deadline on a silent connection', async () => {
    const silent = new Database(createPool({ url: server.urls.episode, poolSize: 1 }));
    const attempt = () =>
      silent.write(
        {
          userId: freshUser(),
          requestId: randomUUID(),
          changes: [],
          smallAnswer: true,
          remainingMs: countdown(timeLimitMs),
        },
        stamp,
      );
    await attempt();
    const [backend] = await silent.read<{ pid: number }>(backendPid, []);
    const pid = Number(backend?.pid);
    process.kill(pid, 'SIGSTOP');
    try {
      await expect(attempt()).rejects.toMatchObject({ code: 'unavailable' });
      await eventually(attempt);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await silent.close();
  });

  it('is unavailable after a loss of its connection between two statements', async () => {
    const lost = database.write(
      {
        userId: freshUser(),
        requestId: randomUUID(),
        changes: [],
        smallAnswer: true,
        remainingMs: countdown(5_000),
      },
      async (transaction) => {
        const [backend] = await transaction.query<{ pid: number }>(backendPid, []);
        process.kill(Number(backend?.pid), 'SIGTERM');
        await eventually(async () => {
          const failed = await transaction.query(backendPid, []).catch((error: unknown) => error);
          expect((failed as Error).message).toMatch(/not queryable/);
        });
        return transaction.query(backendPid, []);
      },
    );
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is unavailable after an immediate loss of its connection; the process survives', async () => {
    const owner = new pg.Client({ connectionString: server.url });
    await owner.connect();
    const proxy = await TcpProxy.to(server.urls.episode);
    const through = new Database(createPool({ url: proxy.url, poolSize: 2 }));
    // One transaction uses the idle connection, the other opens a second one.
    await through.read(one, []);
    // With this trigger, a login waits before its last answer.
    await owner.query(`
      CREATE FUNCTION public.gate() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(1); END $$;
      CREATE EVENT TRIGGER gate ON login EXECUTE FUNCTION public.gate();
      SELECT pg_advisory_lock(1)`);
    const unhandled: unknown[] = [];
    const collect = (error: unknown) => void unhandled.push(error);
    process.on('uncaughtException', collect);
    try {
      const attempts = Promise.all(
        [1, 2].map(() => through.inTransaction(countdown(5_000), reads)).map(settled),
      );
      const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'";
      const pid = await eventually(async () => {
        const { rows } = await owner.query<{ pid: number }>(waiting);
        expect(rows).toHaveLength(1);
        return rows[0]?.pid;
      });
      proxy.hold();
      await owner.query('SELECT pg_advisory_unlock(1)');
      await eventually(async () => {
        const { rows } = await owner.query('SELECT state FROM pg_stat_activity WHERE pid = $1', [
          pid,
        ]);
        expect(rows).toEqual([{ state: 'idle' }]);
      });
      await owner.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
      proxy.release();
      expect(await attempts).toContainEqual(expect.objectContaining({ code: 'unavailable' }));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('uncaughtException', collect);
      await owner.query(
        'SELECT pg_advisory_unlock_all(); DROP EVENT TRIGGER gate; DROP FUNCTION public.gate',
      );
      await owner.end();
      proxy.release();
      await through.close();
      proxy.close();
    }
  });

  it('is unavailable while Postgres is stopped, and works again afterwards', async () => {
    await server.stop();
    await expect(write()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(database.read(one, [])).rejects.toMatchObject({ code: 'unavailable' });
    await server.start();
    await eventually(() => write());
    expect(await database.read(one, [])).toEqual([{ n: 1 }]);
  });

  it('of a waiting user does not delay other users', async () => {
    const [stalled, other] = [freshUser(), freshUser()];
    let release: () => void = () => undefined;
    const holding = new Promise<void>((resolve) => (release = resolve));
    const slow = {
      userId: stalled,
      requestId: randomUUID(),
      changes: [],
      smallAnswer: true,
      remainingMs: () => 5_000,
    };
    let began = false;
    const first = database.write(slow, async (transaction) => {
      began = true;
      await holding;
      return transaction.stamp;
    });
    await eventually(() => expect(began).toBe(true));
    const waiting = Array.from({ length: 20 }, () => write(stalled, 5_000));
    await write(other, 2_000);
    release();
    const stamps = await Promise.all([first, ...waiting]);
    expect(stamps).toEqual([...stamps].sort());
  });
});

describe('availability', () => {
  it('follows Postgres without a statement, and recovers automatically', async () => {
    const { availability } = database;
    await eventually(() => expect(availability.isAvailable).toBe(true));
    await write();
    const changes: boolean[] = [];
    availability.onChange((isAvailable) => changes.push(isAvailable));
    await server.stop();
    await eventually(() => expect(availability.isAvailable).toBe(false));
    expect(availability.problems).toEqual([expect.stringMatching(/^Postgres: /)]);
    await server.start();
    await eventually(() => expect(availability.isAvailable).toBe(true));
    expect([changes, availability.problems]).toEqual([[false, true], []]);
    await eventually(() => write());
  });

  it('is not lost with one of several connections, nor with a slow statement', async () => {
    const { availability } = database;
    const changes: boolean[] = [];
    availability.onChange((isAvailable) => changes.push(isAvailable));
    const [backend] = await database.read<{ pid: number }>(backendPid, []);
    process.kill(Number(backend?.pid), 'SIGTERM');
    const slow = statement('test.hang', 'SELECT pg_sleep(60)');
    const tooLong = database.inTransaction(countdown(timeLimitMs), (transaction) =>
      transaction.query(slow, []),
    );
    await expect(tooLong).rejects.toMatchObject({ code: 'unavailable' });
    await eventually(() => write());
    expect([await availability.check(), changes]).toEqual([[], []]);
  });

  it('is not lost while long statements use every connection', async () => {
    const busy = new Database(createPool({ url: server.urls.episode, poolSize: 1 }));
    const long = busy.change(statement('test.long', 'SELECT pg_sleep(3)'), []);
    await eventually(() => expect(busy.isPoolBusy).toBe(true));
    expect(await busy.availability.check()).toEqual([]);
    expect([busy.isPoolBusy, busy.availability.isAvailable]).toEqual([true, true]);
    await long;
    expect(busy.isPoolBusy).toBe(false);
    await busy.close();
  });

  it('is lost if the only connection of the pool gets no answer to the check', async () => {
    const proxy = await TcpProxy.to(server.urls.episode);
    const silent = new Database(createPool({ url: proxy.url, poolSize: 1 }));
    await silent.read(one, []);
    proxy.hold();
    const { availability } = silent;
    expect(await availability.check()).toEqual(['Postgres: no answer within 2000 ms']);
    proxy.release();
    await eventually(() => expect(availability.isAvailable).toBe(true));
    await silent.close();
    proxy.close();
  });

  it('is lost if statements wait for connections that do not open', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const url = `postgres://nobody@127.0.0.1:${port}/nothing`;
    const unopened = new Database(createPool({ url, poolSize: 1 }));
    const waiting = [1, 2].map(() => settled(unopened.change(one, [])));
    const problems = await unopened.availability.check();
    mute.close();
    for (const socket of sockets) socket.destroy();
    expect(problems).toEqual(['Postgres: no answer within 2000 ms']);
    expect(await Promise.all(waiting)).toMatchObject([
      { code: 'unavailable' },
      { code: 'unavailable' },
    ]);
    await unopened.close();
  });

  it.each([
    ['a missing table', 'SELECT FROM sync.later'],
    ['a missing column', 'SELECT later FROM sync.user_clock'],
    ['a missing function', 'SELECT sync.later()'],
    ['a missing schema', 'CREATE TABLE later.later ()'],
    ['a missing right', 'SELECT FROM deletion.deletions'],
  ])(
    '%s is a fault `unavailable`, but the process stays ready if all migrations are applied',
    async (name, text) => {
      await expect(database.read(statement(`test.${name}`, text), [])).rejects.toMatchObject({
        code: 'unavailable',
      });
      expect(await database.availability.check()).toEqual([]);
    },
  );
});

describe('reads in one iteration of the event loop', () => {
  it('share connections, four to each', async () => {
    const rows = await Promise.all(
      Array.from({ length: 9 }, () => database.read<{ pid: number }>(backendPid, [])),
    );
    const pids = rows.flat().map(({ pid }) => pid);
    const counts = [...new Set(pids)].map((pid) => pids.filter((other) => other === pid).length);
    expect(counts.toSorted()).toEqual([1, 4, 4]);
  });

  it('all fail with `unavailable` if the first is cancelled before it is prepared', async () => {
    const pool = createPool({ url: server.urls.episode, poolSize: 1, statementTimeoutMs: 200 });
    const short = new Database(pool);
    const owner = new pg.Client({ connectionString: server.url });
    await owner.connect();
    await owner.query('BEGIN; LOCK TABLE sync.user_clock');
    const clocks = statement('test.clocks', 'SELECT count(*)::int AS n FROM sync.user_clock');
    const outcomes = await Promise.all([1, 2, 3].map(() => settled(short.read(clocks, []))));
    await owner.query('ROLLBACK');
    await owner.end();
    expect(outcomes).toEqual([1, 2, 3].map(() => expect.objectContaining({ code: 'unavailable' })));
    expect(await short.read(clocks, [])).toHaveLength(1);
    await short.close();
  });
});
