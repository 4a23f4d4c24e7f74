import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DeletionStatus, deletionStatuses } from '#contracts';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '#testing';

let database: TestDatabase;
/** A connection with the role of the worker. */
let worker: pg.Client;
let owner: pg.Client;
let userId: string;

beforeAll(async () => {
  database = await createDatabase();
  worker = new pg.Client({ connectionString: database.urls.deletion });
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await Promise.all([worker.connect(), owner.connect()]);
});
afterAll(async () => {
  await Promise.all([worker.end(), owner.end()]);
  await database.drop();
});
beforeEach(() => {
  userId = randomUUID();
});

async function begin(subscriptionId = 1): Promise<string> {
  const { rows } = await worker.query<{ id: string }>(
    'SELECT deletion.add_pending($1, $2, now(), NULL) AS id',
    [userId, subscriptionId],
  );
  return (rows[0] as { id: string }).id;
}

const end = (id: string, status: DeletionStatus) =>
  worker.query('SELECT age FROM deletion.end_pending($1, $2, $3, $4, 0::smallint)', [
    userId,
    id,
    status,
    status === 'FAILURE' ? 'why' : null,
  ]);

/** Creates a record in a state. */
async function recordIn(status: DeletionStatus): Promise<string> {
  const id = await begin();
  if (status !== 'PENDING') await end(id, status);
  return id;
}

async function stored(id: string): Promise<Record<string, unknown>> {
  const { rows } = await owner.query(
    'SELECT * FROM deletion.deletions WHERE user_id = $1 AND id = $2',
    [userId, id],
  );
  return rows[0] as Record<string, unknown>;
}

/** Calls of every function that changes a record. */
const changes: Record<string, (id: string) => [sql: string, values: unknown[]]> = {
  'end_pending in SUCCESS': (id) => [
    "deletion.end_pending($1, $2, 'SUCCESS', NULL, 0::smallint)",
    [userId, id],
  ],
  'end_pending in FAILURE': (id) => [
    "deletion.end_pending($1, $2, 'FAILURE', 'another', 0::smallint)",
    [userId, id],
  ],
  'end_pending in PENDING': (id) => [
    "deletion.end_pending($1, $2, 'PENDING', NULL, 0::smallint)",
    [userId, id],
  ],
  count_attempt: (id) => ['deletion.count_attempt($1, $2)', [userId, id]],
  claim: (id) => ['deletion.claim($1, $2)', [userId, id]],
  make_due: (id) => ['deletion.make_due($1)', [id]],
  claim_due: () => ['deletion.claim_due(1000, -1000000)', []],
  renumber_lost_jobs: (id) => [
    'deletion.renumber_lost_jobs(ARRAY[$1::uuid], ARRAY[$2::bigint], ARRAY[0])',
    [userId, id],
  ],
};
const call = ([sql, values]: [string, unknown[]]) => worker.query(`SELECT * FROM ${sql}`, values);

describe('the table of deletions', () => {
  it.each(['SUCCESS', 'FAILURE'] as const)(
    'allows one transition from PENDING to %s',
    async (status) => {
      const id = await begin();
      expect((await end(id, status)).rows).toEqual([{ age: expect.any(Number) as number }]);
      expect(await stored(id)).toMatchObject({ status, finished: expect.any(Date) as Date });
      expect((await end(id, status)).rows).toEqual([]);
    },
  );

  it('rejects PENDING as a final state', async () => {
    await expect(end(await begin(), 'PENDING')).rejects.toThrow('deletions_finished_when_final');
  });

  const finals = ['SUCCESS', 'FAILURE'] as const;
  it.each(finals.flatMap((status) => Object.keys(changes).map((name) => ({ status, name }))))(
    'keeps every field of a record in $status: $name',
    async ({ status, name }) => {
      const id = await recordIn(status);
      const before = await stored(id);
      await call((changes[name] as (typeof changes)[string])(id));
      expect(await stored(id)).toEqual(before);
    },
  );

  it('has no other functions than those called here', async () => {
    const { rows } = await owner.query<{ name: string }>(
      // erasure-states.int-spec.ts tests those of erasures; new_id reads and writes no table.
      `SELECT DISTINCT proname AS name FROM pg_proc
       WHERE pronamespace = 'deletion'::regnamespace
         AND proname !~ 'eras|^(add_removed_rows|new_id)$'`,
    );
    const called = new Set([
      'add_pending',
      ...Object.keys(changes).map((name) => name.split(' ')[0]),
    ]);
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...called].toSorted());
  });

  const columns = [
    'status',
    'attempts',
    'job_number',
    'sent_at',
    'cause',
    'finished',
    'requested',
    'subscription_id',
    'id',
  ];
  it.each(columns)('does not allow the worker to update %s or to lock rows', async (column) => {
    await begin();
    const where = `WHERE user_id = '${userId}'`;
    for (const sql of [
      `UPDATE deletion.deletions SET ${column} = ${column} ${where}`,
      `SELECT FROM deletion.deletions ${where} FOR UPDATE`,
    ])
      await expect(worker.query(sql)).rejects.toMatchObject({ code: '42501' });
  });

  it.each([...deletionStatuses, 'DONE'])(
    'does not allow the worker to insert a record in %s',
    async (status) => {
      const started = worker.query(
        `INSERT INTO deletion.deletions (user_id, subscription_id, requested, status)
         VALUES ($1, 1, now(), $2)`,
        [userId, status],
      );
      await expect(started).rejects.toMatchObject({ code: '42501' });
      expect(await stored(await begin())).toMatchObject({
        status: 'PENDING',
        finished: null,
        cause: null,
        job_number: 0,
      });
    },
  );

  it('does not allow the worker to choose an id', async () => {
    const chosen = worker.query(
      `INSERT INTO deletion.deletions (user_id, id, subscription_id, requested)
       VALUES ($1, 1, 1, now())`,
      [userId],
    );
    await expect(chosen).rejects.toMatchObject({ code: '42501' });
  });

  const change = (id: string, assignments: string) =>
    owner.query(
      `UPDATE deletion.deletions SET ${assignments} WHERE user_id = '${userId}' AND id = ${id}`,
    );

  it.each(["'DONE'", "'pending'", "''", 'NULL'])('rejects the state %s', async (value) => {
    const id = await begin();
    await expect(change(id, `status = ${value}, finished = now()`)).rejects.toThrow(/constraint/);
  });

  it.each([
    ['PENDING that is finished', 'finished = now()'],
    ['PENDING with a cause', "cause = 'why'"],
    ['SUCCESS that is not finished', "status = 'SUCCESS'"],
    ['SUCCESS with a cause', "status = 'SUCCESS', finished = now(), cause = 'why'"],
    ['FAILURE without a cause', "status = 'FAILURE', finished = now()"],
  ])('rejects %s', async (_, assignments) => {
    await expect(change(await begin(), assignments)).rejects.toThrow(
      /violates check constraint "deletions_/,
    );
  });

  it('allows one PENDING record and any number of final ones for a subscription', async () => {
    const first = await begin();
    await expect(begin()).rejects.toThrow(/"deletions_one_pending"/);
    await begin(2);
    await end(first, 'FAILURE');
    await end(await begin(), 'FAILURE');
    await begin();
  });
});
