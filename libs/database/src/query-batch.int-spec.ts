import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import pg, { type QueryConfig } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Fixture, type FixtureDatabase, freshUser } from '#testing';
import { selectClock } from './listing.js';
import { queryTogether } from './query-batch.js';

const fixture = new Fixture();
let context: FixtureDatabase;
let client: pg.PoolClient;

beforeEach(async () => {
  context = await fixture.database('episode');
  const connectionString = context.ownerUrl;
  const pool = new pg.Pool({ connectionString, max: 1, pipeline: true } as pg.PoolConfig);
  client = await pool.connect();
  fixture.onClose(async () => {
    const ended = once(client, 'end');
    client.release(true);
    await Promise.all([ended, pool.end()]);
  });
});
afterEach(() => fixture.close());

/** Returns a counter of the Syncs that the server answers from now on. */
function countSyncs(counted: pg.PoolClient): () => number {
  let syncs = 0;
  const { connection } = counted as unknown as { connection: NodeJS.EventEmitter };
  connection.on('readyForQuery', () => (syncs += 1));
  return () => syncs;
}

const named = (name: string, text: string, ...values: unknown[]): QueryConfig => ({
  name,
  text,
  values,
});
const rowsOf = async (...queries: [QueryConfig, ...QueryConfig[]]) =>
  (await queryTogether(client, queries)).map(({ rows }) => rows as object[]);

describe('statements of a batch', () => {
  it('are answered together, each with its own rows', async () => {
    const syncs = countSyncs(client);
    const batch = () =>
      rowsOf(
        named('begin', 'BEGIN'),
        named('create', 'CREATE TEMP TABLE made ON COMMIT DROP AS SELECT 1 AS n'),
        named('read', 'SELECT n + $1::int AS n FROM made', 1),
        { text: 'SELECT $1::int AS unnamed', values: [2] },
        named('commit', 'COMMIT'),
      );
    const expected = [[], [], [{ n: 2 }], [{ unnamed: 2 }], []];
    expect([await batch(), await batch()]).toEqual([expected, expected]);
    expect(syncs()).toBe(2);
  });

  it('use the type parsers of the client', async () => {
    client.setTypeParser(pg.types.builtins.INT8, Number);
    const [first, second] = ['SELECT 1::int8 AS n', 'SELECT 2::int8 AS n'];
    expect(await rowsOf(named('first', first), named('second', second))).toEqual([
      [{ n: 1 }],
      [{ n: 2 }],
    ]);
  });

  it('do not run after a statement that fails, and can run later', async () => {
    const [begin, commit] = [named('begin', 'BEGIN'), named('commit', 'COMMIT')];
    const [divide, read] = ['SELECT 1 / $1::int AS quotient', 'SELECT txid_current_if_assigned()'];
    await expect(
      rowsOf(begin, named('divide', divide, 0), named('read', read), commit),
    ).rejects.toMatchObject({ code: '22012' });
    // The transaction is aborted but still open, so Postgres rejects its statements.
    await expect(rowsOf(named('read', read))).rejects.toMatchObject({ code: '25P02' });
    await rowsOf(named('rollback', 'ROLLBACK'));
    expect(await rowsOf(named('divide', divide, 1), named('read', read))).toMatchObject([
      [{ quotient: 1 }],
      [{ txid_current_if_assigned: null }],
    ]);
  });

  it('are sent in one round trip: a write has two', async () => {
    const { database } = context;
    const userId = freshUser();
    const write = () =>
      database.write(
        {
          userId,
          requestId: randomUUID(),
          changes: [],
          smallAnswer: true,
          remainingMs: () => 5_000,
          reads: [selectClock, [userId]],
        },
        async () => 'done',
      );
    await write();
    const connected = await database.pool.connect();
    const syncs = countSyncs(connected);
    connected.release();
    await write();
    expect(syncs()).toBe(2);
  });
});
