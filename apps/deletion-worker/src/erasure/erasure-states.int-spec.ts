import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type DatabaseContext,
  openDatabase,
} from '../../../../libs/database/testing/database-context.js';

// Privileges of the worker's role on records of erasures: docs/design/erasure.md, "Invariants".

let context: DatabaseContext;
let worker: pg.Client;
beforeAll(async () => {
  context = await openDatabase('deletion');
  worker = new pg.Client({ connectionString: context.urls.deletion });
  await worker.connect();
});
afterAll(async () => {
  await worker.end();
  await context.close();
});

const nil = '00000000-0000-0000-0000-000000000000';

/** A call of each function that writes records of erasures. */
const functions: Record<string, string> = {
  record_erasure: `SELECT deletion.record_erasure($1::uuid, '{"correlationId":"again"}')`,
  claim_due_erasures: 'SELECT * FROM deletion.claim_due_erasures(1000, 0) WHERE user_id = $1::uuid',
  renumber_lost_erasure_jobs:
    'SELECT * FROM deletion.renumber_lost_erasure_jobs(ARRAY[$1::uuid], ARRAY[0])',
  claim_erasure: 'SELECT * FROM deletion.claim_erasure($1::uuid)',
  erase_requests: `SELECT * FROM deletion.erase_requests($1::uuid, '${nil}', 10)`,
  add_removed_rows: 'SELECT deletion.add_removed_rows($1::uuid, 7)',
  end_erasure: `SELECT deletion.end_erasure($1::uuid, 'FAILURE', 'why', 0::smallint)`,
};

const stored = async (userId: string) =>
  (
    await context.owner.query(
      `SELECT * FROM deletion.erasures JOIN sync.user_clock USING (user_id)
       WHERE user_id = $1::uuid`,
      [userId],
    )
  ).rows;

it.each(Object.keys(functions))('an erasure in SUCCESS never changes: %s', async (name) => {
  const userId = randomUUID();
  await worker.query(`SELECT deletion.record_erasure($1, '{}')`, [userId]);
  await worker.query(`SELECT deletion.end_erasure($1, 'SUCCESS', NULL, 0::smallint)`, [userId]);
  const before = await stored(userId);
  expect(before).toMatchObject([{ status: 'SUCCESS', refused: 3, origin: null }]);
  await worker.query(functions[name] as string, [userId]);
  expect(await stored(userId)).toEqual(before);
});

it('markers of requests are erased only while their user is being erased', async () => {
  const userId = randomUUID();
  await worker.query('SELECT sync.begin_write($1, gen_random_uuid())', [userId]);
  const erase = async () => {
    const { rows } = await worker.query<{ rows: number }>(functions['erase_requests'] as string, [
      userId,
    ]);
    return rows[0]?.rows;
  };
  expect(await erase()).toBe(0);
  await worker.query(`SELECT deletion.record_erasure($1, '{}')`, [userId]);
  expect(await erase()).toBe(1);
  expect(await erase()).toBe(0);
});

it('no other function writes records', async () => {
  const { rows } = await context.owner.query<{ name: string }>(
    `SELECT proname AS name FROM pg_proc
     WHERE pronamespace = 'deletion'::regnamespace AND proname ~ 'eras|^add_removed_rows$'
     ORDER BY 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(functions).toSorted());
});

it.each([
  `INSERT INTO deletion.erasures (user_id, requested) VALUES (gen_random_uuid(), now())`,
  `UPDATE deletion.erasures SET status = 'PENDING', finished = NULL`,
  'DELETE FROM deletion.erasures',
  'UPDATE sync.user_clock SET refused = NULL',
])('the worker writes them by these functions alone: not %s', async (sql) => {
  await expect(worker.query(sql)).rejects.toMatchObject({ code: '42501' });
});
