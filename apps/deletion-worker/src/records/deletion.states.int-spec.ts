import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DeletionStatus, deletionStatuses } from '#contracts';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '#testing';
import { statesBefore } from './deletion.rule.js';

let database: TestDatabase;
let worker: pg.Client;
let userId: string;

beforeAll(async () => {
  database = await createDatabase();
  worker = new pg.Client({ connectionString: database.urls.deletion });
  await worker.connect();
});
afterAll(async () => {
  await worker.end();
  await database.drop();
});
beforeEach(() => {
  userId = randomUUID();
});

async function begin(subscriptionId = 1): Promise<string> {
  const { rows } = await worker.query<{ id: string }>(
    'INSERT INTO deletion.deletions (user_id, subscription_id, requested) VALUES ($1, $2, now()) RETURNING id',
    [userId, subscriptionId],
  );
  return (rows[0] as { id: string }).id;
}

/** All that goes with a state. */
const fields: Record<DeletionStatus, string> = {
  PENDING: "status = 'PENDING', finished = NULL, cause = NULL",
  SUCCESS: "status = 'SUCCESS', finished = now(), cause = NULL",
  FAILURE: "status = 'FAILURE', finished = now(), cause = 'why'",
};

const change = (id: string, assignments: string) =>
  worker.query(`UPDATE deletion.deletions SET ${assignments} WHERE user_id = '${userId}' AND id = ${id}`);

describe('the table of deletions', () => {
  // What stays PENDING is no transition: its job is sent, its attempts are counted.
  const allowed = (from: DeletionStatus, to: DeletionStatus) =>
    statesBefore(to).includes(from) || (from === 'PENDING' && to === 'PENDING');
  const pairs = deletionStatuses.flatMap((from) => deletionStatuses.map((to) => ({ from, to })));

  async function become({ from, to }: (typeof pairs)[number]): Promise<{ id: string; changed: Promise<unknown> }> {
    const id = await begin();
    if (from !== 'PENDING') await change(id, fields[from]);
    return { id, changed: change(id, fields[to]) };
  }

  it.each(pairs.filter(({ from, to }) => allowed(from, to)))(
    'lets $from become $to, as the worker does',
    async (pair) => {
      const { changed } = await become(pair);
      expect(await changed).toMatchObject({ rowCount: 1 });
    },
  );

  it.each(pairs.filter(({ from, to }) => !allowed(from, to)))('never lets $from become $to', async (pair) => {
    const { id, changed } = await become(pair);
    await expect(changed).rejects.toThrow(`deletion ${id} ended in ${pair.from}`);
  });

  it.each(['SUCCESS', 'FAILURE'] as const)('keeps every field of what ended in %s', async (status) => {
    const id = await begin();
    await change(id, fields[status]);
    const all = ['attempts = 9', 'send = 9', 'sent_at = now()', "cause = 'another'", 'subscription_id = 2', 'id = id'];
    for (const assignment of all) await expect(change(id, assignment)).rejects.toThrow(`ended in ${status}`);
  });

  it.each(['SUCCESS', 'FAILURE'])('lets no record start as %s', async (status) => {
    const started = worker.query(
      `INSERT INTO deletion.deletions (user_id, subscription_id, requested, status, finished, cause)
       VALUES ($1, 1, now(), $2, now(), $3)`,
      [userId, status, status === 'FAILURE' ? 'why' : null],
    );
    await expect(started).rejects.toThrow(`can not start as ${status}`);
  });

  it.each(["'DONE'", "'pending'", "''", 'NULL'])('knows no state %s', async (value) => {
    const id = await begin();
    await expect(change(id, `status = ${value}, finished = now()`)).rejects.toThrow(/constraint/);
  });

  it.each([
    ['PENDING that is finished', 'finished = now()'],
    ['PENDING with a cause', "cause = 'why'"],
    ['SUCCESS that is not finished', "status = 'SUCCESS'"],
    ['SUCCESS with a cause', "status = 'SUCCESS', finished = now(), cause = 'why'"],
    ['FAILURE without a cause', "status = 'FAILURE', finished = now()"],
  ])('knows no %s', async (_, assignments) => {
    await expect(change(await begin(), assignments)).rejects.toThrow(/violates check constraint "deletions_/);
  });

  it('has at most one PENDING record for a subscription, and any number that have ended', async () => {
    const first = await begin();
    // Its part in a partition has a name that Postgres made.
    await expect(begin()).rejects.toThrow(/"deletions_(one_pending|\d+_user_id_subscription_id_idx)"/);
    await begin(2);
    await change(first, fields.FAILURE);
    await change(await begin(), fields.FAILURE);
    await begin();
  });
});
