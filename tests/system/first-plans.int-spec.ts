import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '#testing';
import { selectByPrimaryKey } from '../../apps/episode/src/action.repository.js';
import { list } from '../../apps/episode/src/episode-list.repository.js';

/** Episodes of the user, episodes of a page, and maximum buffers of 8 KiB per row. */
const [episodes, onPage, buffersOfRow] = [5_000, 250, 24];

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** A service keeps its first plans until Postgres analyzes the tables, which fill meanwhile. */
it('a page of all actions reads only its own rows, by a plan of empty tables', async () => {
  const user = randomUUID();
  const page = `EXECUTE page ('${user}', 0, 0, ${onPage})`;
  await client.query(
    `SET plan_cache_mode = force_generic_plan; PREPARE page AS ${selectByPrimaryKey.text}; ${page}`,
  );
  await client.query(
    `WITH podcast AS (
       INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
         is_subscribed_at, subscription_changed, changed)
       VALUES ($1, 'https://podcast.example', $1, true, now(), now(), now()) RETURNING id
     ), made AS (
       INSERT INTO episode.episodes (user_id, subscription_id, sync_id, episode_guid, title,
         enclosure_url, episode_url, publish_date)
       SELECT $1, podcast.id, gen_random_uuid(), n, repeat('t', 200), '', '', now()
       FROM podcast, generate_series(1, $2) n RETURNING id, sync_id
     )
     INSERT INTO episode.states (user_id, id, sync_id, changed)
     SELECT $1, id, sync_id, now() FROM made`,
    [user, episodes],
  );
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${page}`,
  );
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  console.log(`${plan?.['Shared Hit Blocks']} pages of 8 KiB read for ${onPage} rows`);
  expect(plan?.['Actual Rows']).toBe(onPage);
  expect(plan?.['Shared Hit Blocks']).toBeLessThanOrEqual((onPage + 1) * buffersOfRow);
});

/** For statements without a plan of their own for empty tables. */
it('ANALYZE, which autovacuum runs, replaces a plan of empty tables', async () => {
  const [user, subscriptions, rows] = [randomUUID(), 2_000, 50];
  const page = `EXECUTE first ('${user}', '-infinity', ${rows + 1}, 0, 0, NULL)`;
  await client.query(
    'TRUNCATE subscription.subscriptions, episode.episodes, episode.states CASCADE',
  );
  await client.query(
    `SET plan_cache_mode = force_generic_plan; PREPARE first AS ${list.forward.text}; ${page}`,
  );
  await client.query(
    `WITH podcasts AS (
       INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
         is_subscribed_at, subscription_changed, changed)
       SELECT $1, 'https://podcast.example/' || n, gen_random_uuid(), true, now(), now(), now()
       FROM generate_series(1, $2) n RETURNING id
     ), made AS (
       INSERT INTO episode.episodes (user_id, subscription_id, sync_id, episode_guid, title,
         enclosure_url, episode_url, publish_date)
       SELECT $1, id, gen_random_uuid(), id, '', '', '', now() FROM podcasts
       RETURNING id, sync_id
     )
     INSERT INTO episode.states (user_id, id, sync_id, changed)
     SELECT $1, id, sync_id, now() FROM made`,
    [user, subscriptions],
  );
  const buffers = async () => {
    const { rows: plans } = await client.query<{
      'QUERY PLAN': [{ Plan: Record<string, number> }];
    }>(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${page}`);
    return Number(plans[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks']);
  };
  const before = await buffers();
  await client.query('ANALYZE subscription.subscriptions, episode.episodes, episode.states');
  const after = await buffers();
  console.log(`${before} pages of 8 KiB read before ANALYZE, ${after} after it`);
  expect(after).toBeLessThanOrEqual((rows + 1) * buffersOfRow);
});
