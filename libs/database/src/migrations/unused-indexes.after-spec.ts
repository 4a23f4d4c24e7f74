import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '#testing';

/** Indexes that Postgres ignores for small tables, with the test that shows their use. */
const ofLargeTables = {
  'episode.states_favorites':
    'states_pkey also finds few states of a user: tests/system/query-plans.int-spec.ts',
  'episode.episodes_date_and_title':
    'episodes_enclosure also finds few episodes: tests/system/query-plans.int-spec.ts',
  'episode.episodes_untitled': 'other indexes also find few episodes of a user',
  'subscription.feed_urls_by_url': 'the few URLs of all users are read as a whole',
  'subscription.guids_subscription':
    'guids_pkey also finds the few guids of a user: tests/system/query-plans.int-spec.ts',
  'subscription.feed_urls_subscription':
    'feed_urls_pkey also finds the few URLs of a user: tests/system/query-plans.int-spec.ts',
};

/** Reads indexes that are not unique and were never scanned. */
const unused = `
  SELECT i.indexrelid::regclass::text AS name
  FROM pg_index i JOIN pg_stat_user_indexes s USING (indexrelid)
  WHERE NOT i.indisunique AND s.schemaname IN ('sync', 'subscription', 'episode', 'deletion')
  GROUP BY 1 HAVING sum(s.idx_scan) = 0`;

/** The sweep of old answers scans its index only once a minute. */
const timeout = 100_000;

const database = inject('stack')?.database;
const reason = database ? '' : ' (skipped: no end-to-end tests ran on a database of this run)';

describe.runIf(database)(`after the end-to-end tests${reason}`, () => {
  let client: pg.Client;

  beforeAll(async () => {
    client = new pg.Client({ connectionString: database });
    await client.connect();
  });

  afterAll(() => client.end());

  it('every index that is not unique was scanned', { timeout: timeout + 10_000 }, async () => {
    const started = performance.now();
    await eventually(
      async () => {
        const { rows } = await client.query<{ name: string }>(unused);
        expect(rows.map(({ name }) => name).filter((name) => !(name in ofLargeTables))).toEqual([]);
      },
      { timeout, interval: 500 },
    );
    console.log(`all of them after ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  });
});
