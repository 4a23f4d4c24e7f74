import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { QueryRunner } from 'typeorm';
import { createDatabase, type TestDatabase } from '#testing';
import {
  addsConstraintsTogether,
  catalogRules,
  faultsOf,
  needsCoordinator,
} from '../../testing/citus.rules.js';
import { delegatedFunctions, readTablesOfUsers, requireCitus } from '../distribution.js';
import { migrations } from './index.js';

let database: TestDatabase;
let owner: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

const rowsOf = async (sql: string) => (await owner.query<Record<string, unknown>>(sql)).rows;

const storedEpisode = `INSERT INTO episode.episodes
  (user_id, subscription_id, publish_date, sync_id, episode_guid, title, enclosure_url, episode_url)
  VALUES (gen_random_uuid(), 1, 'epoch', gen_random_uuid(), '', '', 'https://u.example', '')`;
const storedSubscription = `INSERT INTO subscription.subscriptions
  (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
  VALUES (gen_random_uuid(), 'https://u.example', gen_random_uuid(), true, 'epoch', 'epoch',
    'epoch')`;

/** Tables with users that are not distributed. Only the coordinator of a Citus cluster has them. */
const ofCoordinator = ['feed.imports'];

/** SQL that breaks each rule. */
const planted: Record<keyof typeof catalogRules, string> = {
  'INSERT of some columns, while others have defaults':
    'GRANT INSERT (user_id) ON deletion.deletions TO podcast_sync_episode_group',
  'a table without a key, whose shards cannot move while it is written':
    'CREATE TABLE sync.planted (user_id uuid)',
  'a function in SQL that reads tables of users': `
    CREATE FUNCTION sync.planted(p_user uuid) RETURNS bigint
    LANGUAGE sql AS 'SELECT count(*) FROM sync.events e WHERE e.user_id = p_user'`,
  'a function that takes a row of a table': `
    CREATE FUNCTION sync.planted(e episode.episodes) RETURNS text
    LANGUAGE sql AS 'SELECT (e).title'`,
  'a right to a view without one to each table behind it': `
    CREATE VIEW episode.planted AS SELECT s.user_id, s.changed FROM episode.states s;
    GRANT SELECT ON episode.planted TO podcast_sync_subscription_group`,
  'a policy with a subquery': `
    CREATE POLICY planted ON sync.request
    USING (EXISTS (SELECT 1 FROM sync.user_clock c WHERE c.user_id = request.user_id))`,
  'a trigger': `
    CREATE FUNCTION sync.planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER planted BEFORE INSERT ON sync.events EXECUTE FUNCTION sync.planted()`,
};

describe.each(Object.entries(catalogRules))('the schema does not have: %s', (rule, query) => {
  it('anywhere', async () => expect(await rowsOf(query)).toEqual([]));

  it('and the rule finds a violation that the test adds', async () => {
    await owner.query('BEGIN');
    try {
      await owner.query(planted[rule] as string);
      expect(await rowsOf(query)).not.toEqual([]);
    } finally {
      await owner.query('ROLLBACK');
    }
  });
});

describe('the distribution', () => {
  it.each([
    ['13.1-1', 'DATABASE_DISTRIBUTION=citus needs Citus 13.2 or later, not 13.1-1'],
    ['13.2-1', 'accepted'],
    ['14.0-1', 'accepted'],
  ])('of Citus %s: %s', async (version, expected) => {
    const extensions = `(VALUES ('citus', '${version}')) e (extname, extversion)`;
    const query = (sql: string) => rowsOf(sql.replace('pg_extension', extensions));
    const outcome = await requireCitus({ query } as never).then(
      () => 'accepted',
      (error: unknown) => (error as Error).message,
    );
    expect(outcome).toBe(expected);
  });

  it('has every table with users, after those that it references', async () => {
    const tables = await readTablesOfUsers({ query: rowsOf } as never);
    const listed = await rowsOf(`
      SELECT c.oid::regclass::text AS name FROM pg_class c
      WHERE c.relkind = 'r' AND c.relname <> 'migrations'
        AND c.relnamespace::regnamespace::text IN ('sync', 'subscription', 'episode', 'deletion')`);
    expect(tables.toSorted()).toEqual(listed.map(({ name }) => name).toSorted());
    const place = (name: string) => tables.indexOf(name);
    expect(tables[0]).toBe('sync.user_clock');
    expect(place('sync.request')).toBeLessThan(place('sync.answer'));
    expect(place('subscription.subscriptions')).toBeLessThan(place('subscription.guids'));
  });

  const tablesWithoutDistribution = async () => {
    const tables = await readTablesOfUsers({ query: rowsOf } as never);
    const named = await rowsOf(`
      SELECT c.oid::regclass::text AS name FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname ~ '^user(_id)?$'
      WHERE c.relkind IN ('r', 'p')
        AND c.relnamespace::regnamespace::text !~ '^(pg_|information_)'`);
    return named.map(({ name }) => name).filter((name) => !tables.includes(name as string));
  };

  it('has every table of any schema with a column of users, except those declared', async () => {
    expect(await tablesWithoutDistribution()).toEqual(ofCoordinator);
    await owner.query('BEGIN');
    try {
      await owner.query('CREATE TABLE feed.planted (user_id uuid PRIMARY KEY)');
      expect(await tablesWithoutDistribution()).toContain('feed.planted');
    } finally {
      await owner.query('ROLLBACK');
    }
  });

  it('has functions with the user as their first argument, one of each name', async () => {
    const found = await rowsOf(`
      SELECT p.oid::regproc::text AS name, p.prosrc AS body FROM pg_proc p
      WHERE p.proargnames[1] = 'p_user' AND p.oid::regproc::text
        IN (${delegatedFunctions.map((name) => `'${name}'`).join()})`);
    expect(found.map(({ name }) => name).toSorted()).toEqual(delegatedFunctions.toSorted());
    expect(found.filter(({ body }) => needsCoordinator(body as string))).toEqual([]);
  });
});

describe('the schema', () => {
  beforeEach(() => owner.query('BEGIN'));
  afterEach(() => owner.query('ROLLBACK'));

  it.each([
    ['episode.episode_id', 'episodes_id_is_exact', storedEpisode],
    ['subscription.subscription_id', 'subscriptions_id_is_exact', storedSubscription],
  ])('rejects an id of %s that JavaScript would round', async (sequence, constraint, insert) => {
    await owner.query(`SELECT setval('${sequence}', ${Number.MAX_SAFE_INTEGER} - 1)`);
    await owner.query(insert);
    await expect(owner.query(insert)).rejects.toMatchObject({ code: '23514', constraint });
  });

  const read = (query: string) =>
    rowsOf(`SELECT sync.read_reachable('sync.events', '${query}') AS rows`);

  it('reads rows of all users as JSON', async () => {
    const events = 'SELECT e.kinds FROM %s e ORDER BY 1 LIMIT 2';
    expect(await read(events)).toEqual([{ rows: [] }]);
    await owner.query(`INSERT INTO sync.events (user_id, kinds)
      SELECT gen_random_uuid(), kinds FROM generate_series(1, 3) kinds`);
    expect(await read(events)).toEqual([{ rows: [{ kinds: 1 }, { kinds: 2 }] }]);
  });

  it('fails for an unreachable server without Citus', async () => {
    await owner.query(`CREATE FUNCTION sync.planted() RETURNS integer LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '08006'; END $$`);
    await expect(read('SELECT sync.planted() FROM (SELECT %L) t')).rejects.toMatchObject({
      code: '08006',
    });
  });
});

it('a Citus cluster can run every function', async () => {
  const functions = await rowsOf(`
    SELECT p.oid::regproc::text AS name, p.prosrc AS body FROM pg_proc p
    WHERE p.pronamespace::regnamespace::text IN ('sync', 'subscription', 'episode', 'deletion')`);
  const faults = functions.flatMap(({ name, body }) =>
    faultsOf(body as string).map((fault) => `${name as string}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

it('a migration adds each constraint of a table by its own statement', async () => {
  const texts: [name: string, sql: string][] = [];
  for (const Migration of migrations) {
    const query = async (sql: string) => {
      texts.push([Migration.name, sql]);
      return [];
    };
    await new Migration().up({ query } as unknown as QueryRunner);
  }
  expect(texts.length).toBeGreaterThan(5);
  expect(texts.filter(([, sql]) => addsConstraintsTogether(sql))).toEqual([]);
});
