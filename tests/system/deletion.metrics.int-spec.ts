import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, eventually, freshUser, SharedStack } from '#testing';
import { SimulatedUser } from './testing/simulated-user.js';

let stack: AppStack;
let worker: AppProcess;
let user: SimulatedUser;
let owner: pg.Client;
const boardPassword = randomUUID();

beforeAll(async () => {
  stack = await AppStack.open({ ownPostgres: true });
  const apps = await stack.start(['gateway', 'subscription', 'deletion-worker'], {
    OPS_PORT: '0',
    QUEUE_BOARD_PASSWORD: boardPassword,
  });
  worker = apps[2] as AppProcess;
  user = new SimulatedUser(await stack.device(apps[0] as AppProcess));
  owner = new pg.Client({ connectionString: stack.postgres.url });
  // Postgres is stopped in the end.
  owner.on('error', () => undefined);
  await owner.connect();
});
afterAll(async () => {
  await owner.end().catch(() => undefined);
  await stack.close();
});

const scrape = async () =>
  (await fetch(`http://127.0.0.1:${String(worker.facts['opsPort'])}/metrics`)).text();

/** Returns a value of the worker's metrics, by default of deletions. */
async function metric(name: string, of = 'deletion'): Promise<number | undefined> {
  const line = (await scrape())
    .split('\n')
    .find((one) => one.startsWith(`podcast_sync_${of}${name} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

const show = (name: string, value: number, of?: string) =>
  eventually(async () => expect(await metric(name, of)).toBe(value));

/** Lets half a minute pass for records that are PENDING: a relay sends them again. */
const becomeDue = (table: 'deletions' | 'erasures') =>
  owner.query(
    `UPDATE deletion.${table}
     SET sent_at = sent_at - interval '31 seconds'
     WHERE status = 'PENDING'`,
  );

describe('the metrics of the deletion worker', () => {
  it('start at zero, so that the first of a kind is a rise', async () => {
    for (const outcome of ['success', 'failure']) await show(`s_total{outcome="${outcome}"}`, 0);
    for (const result of ['done', 'unavailable', 'transient', 'permanent'])
      await show(`_attempts_total{result="${result}"}`, 0);
    await show('_stalled_jobs_total', 0);
    for (const gauge of ['s_pending', '_oldest_pending_age_seconds', '_relay_lag_seconds'])
      await show(gauge, 0);
    for (const gauge of ['s_pending', '_oldest_pending_age_seconds'])
      await show(gauge, 0, 'erasure');
  });

  it('count deletions by outcome, with their durations and attempts', async () => {
    for (let n = 0; n < 3; n++)
      await user.ends(await user.delete(await user.subscribe()), 'SUCCESS');
    await show('s_total{outcome="success"}', 3);
    await show('s_total{outcome="failure"}', 0);
    await show('_duration_seconds_count{outcome="success"}', 3);
    await show('_attempts_total{result="done"}', 3);
    const sum = await metric('_duration_seconds_sum{outcome="success"}');
    console.log(`three deletions took ${sum?.toFixed(3)} s in all`);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(60);
    await show('s_pending', 0);
  });

  it('show pending deletions with their age, and their end', async () => {
    const guid = await user.subscribe();
    const { rowCount } = await owner.query(
      `INSERT INTO deletion.deletions (user_id, subscription_id, requested, sent_at)
       SELECT user_id, id, now() - interval '1 hour', now() FROM subscription.subscriptions
       WHERE guid = '${guid}' RETURNING user_id`,
    );
    expect(rowCount).toBe(1);
    await show('s_pending', 1);
    const age = await metric('_oldest_pending_age_seconds');
    expect(age).toBeGreaterThanOrEqual(3_600);
    expect(age).toBeLessThan(3_660);
    // A record is due again half a minute after it was sent.
    expect(await metric('_relay_lag_seconds')).toBe(0);
    await becomeDue('deletions');
    await show('s_pending', 0);
    // The subscription was added after that request.
    await show('s_total{outcome="failure"}', 1);
  });

  it('show the pending erasures and their age next to the deletions', async () => {
    await owner.query(
      `WITH refused AS (
         INSERT INTO sync.user_clock (user_id, stamp, refused) VALUES ($1, 'epoch', 2)
       )
       INSERT INTO deletion.erasures (user_id, requested, sent_at)
       VALUES ($1, now() - interval '2 hours', now())`,
      [freshUser()],
    );
    await show('s_pending', 1, 'erasure');
    expect(await metric('s_pending')).toBe(0);
    const age = await metric('_oldest_pending_age_seconds', 'erasure');
    expect(age).toBeGreaterThanOrEqual(7_200);
    expect(age).toBeLessThan(7_260);
    await becomeDue('erasures');
    await show('s_pending', 0, 'erasure');
    await show('_oldest_pending_age_seconds', 0, 'erasure');
  });

  it('are served without the records while Postgres is stopped', async () => {
    await stack.postgresServer.stop();
    const text = await scrape();
    expect(text).toContain('podcast_sync_deletions_total{outcome="success"} 3');
    expect(await metric('s_pending')).toBeUndefined();
    expect(await metric('s_pending', 'erasure')).toBeUndefined();
    await stack.postgresServer.start();
    await show('s_pending', 0);
  });
});

it('the board is on the ops port of a worker with a password, and of no other', async () => {
  const ask = async ({ facts }: Pick<AppProcess, 'facts'>, authorization: string) =>
    (
      await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/queues`, {
        headers: { authorization },
      })
    ).status;
  const shared = await SharedStack.open();
  expect(await ask(shared.app('deletion-worker'), 'Bearer none')).toBe(404);
  expect(await ask(worker, 'Bearer none')).toBe(401);
  expect(await ask(worker, `Bearer ${boardPassword}`)).toBe(200);
});
