import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '#testing';
import { unboundStatements } from '../../testing/citus.rules.js';
import { isOfOneUser, tablesOfUsers } from '../../testing/user-restriction.js';

/** Tables without data of users: every node has all of their rows. */
const tablesOfNobody = {
  'sync.migrations': 'which migrations this database has, kept by the tool that runs them',
};

/** Indexes for scans over all users. Each node scans its own part. */
const indexesOfAll = {
  'sync.request_created_at': 'old markers of all users are removed by age',
  'subscription.feed_urls_by_url': 'tasks of the feed service visit the followers of a feed',
  'deletion.deletions_due': 'the relays look for what is due of all users',
  'deletion.erasures_due': 'the relays look for what is due of all users',
};

/** Functions over all users. docs/design/scaling.md describes how they run on Citus. */
const functionsOfAll = {
  'deletion.claim_due': 'a relay claims due records of all users',
  'deletion.claim_due_erasures': 'a relay claims due records of all users',
  'deletion.make_due': 'an operator has the id of a record only',
  'deletion.renumber_lost_erasure_jobs': 'names the user of each record',
  'deletion.renumber_lost_jobs': 'names the user of each record together with its id',
  'sync.take_events': 'a relay announces changes of all users',
};

/** Reads every primary, unique and foreign key with its columns on each side. */
const keys = `
  SELECT x.conrelid::regclass::text AS "table", x.conname AS name, x.contype AS kind,
    ARRAY(SELECT a.attname::text FROM unnest(x.conkey) WITH ORDINALITY k (n, place)
      JOIN pg_attribute a ON a.attrelid = x.conrelid AND a.attnum = k.n
        ORDER BY k.place) AS columns,
    ARRAY(SELECT a.attname::text FROM unnest(x.confkey) WITH ORDINALITY k (n, place)
      JOIN pg_attribute a ON a.attrelid = x.confrelid AND a.attnum = k.n
        ORDER BY k.place) AS referenced
  FROM pg_constraint x JOIN pg_namespace n ON n.oid = x.connamespace
  WHERE x.contype IN ('p', 'u', 'x', 'f') AND n.nspname = ANY ($1)`;

/** Reads every index with its columns; an expression has an empty name. */
const indexes = `
  SELECT i.indrelid::regclass::text AS "table", n.nspname || '.' || c.relname AS name,
    i.indisunique AS unique,
    ARRAY(SELECT coalesce(a.attname::text, '')
    FROM unnest(i.indkey::int[]) WITH ORDINALITY k (n, place)
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n AND k.n > 0
        ORDER BY k.place) AS columns
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ANY ($1)`;

type Key = {
  table: string;
  name: string;
  kind: 'p' | 'u' | 'x' | 'f';
  columns: string[];
  referenced: string[];
};
type Index = { table: string; name: string; unique: boolean; columns: string[] };

let database: TestDatabase;
let client: pg.Client;

async function read<Row extends object>(statement: string): Promise<Row[]> {
  const { rows } = await client.query<Row>(statement, [
    ['sync', 'subscription', 'episode', 'deletion'],
  ]);
  return rows;
}

beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

describe('tables can be distributed by user', () => {
  it('every key and unique index starts with user_id, except those without a user', async () => {
    const unique = [
      ...(await read<Key>(keys)).filter(({ kind }) => kind !== 'f'),
      ...(await read<Index>(indexes)).filter((index) => index.unique),
    ];
    const without = unique.filter(({ columns }) => columns[0] !== 'user_id');
    expect([...new Set(without.map(({ table }) => table))]).toEqual(Object.keys(tablesOfNobody));
  });

  it('every foreign key has user_id first on both sides: it stays on one node', async () => {
    const foreign = (await read<Key>(keys)).filter(({ kind }) => kind === 'f');
    expect(foreign.map(({ name }) => name)).toContain('guids_subscription_id_fkey');
    expect(
      foreign.filter((key) => key.columns[0] !== 'user_id' || key.referenced[0] !== 'user_id'),
    ).toEqual([]);
  });

  it('every other index starts with a user or a subscription, except those for all', async () => {
    const other = (await read<Index>(indexes)).filter(({ unique }) => !unique);
    const ofOne = (first = '') => ['user_id', 'subscription_id'].includes(first);
    const without = other.filter(({ columns }) => !ofOne(columns[0])).map(({ name }) => name);
    expect(without.toSorted()).toEqual(Object.keys(indexesOfAll).toSorted());
  });

  it('every table has user_id, except those without a user', async () => {
    const tables = await read<{ table: string; owned: boolean }>(`
      SELECT c.oid::regclass::text AS "table", EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attname = 'user_id' AND a.attnotnull) AS owned
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND n.nspname = ANY ($1)`);
    expect(tables.filter(({ owned }) => !owned).map(({ table }) => table)).toEqual(
      Object.keys(tablesOfNobody),
    );
  });

  it('every function has the user as its first parameter, except those for all users', async () => {
    const functions = await read<{ name: string; body: string; first: string }>(`
      SELECT format('%s.%s', n.nspname, p.proname) AS name, p.prosrc AS body,
        format('%s %s', p.proargnames[1], p.proargtypes[0]::regtype) AS first
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = ANY ($1)`);
    expect(functions.map(({ name }) => name)).toContain('episode.merge_subscriptions');
    const touching = functions.filter(({ body }) => tablesOfUsers(body).length > 0);
    const others = touching.filter(
      ({ body, first }) => first !== 'p_user uuid' || !isOfOneUser(body, 'p_user'),
    );
    expect(others.map(({ name }) => name).toSorted()).toEqual(Object.keys(functionsOfAll));
    // These continue for the users of reachable nodes.
    const unbound = others.filter(({ body }) => unboundStatements(body).length > 0);
    expect(unbound.map(({ name }) => name)).toEqual(['deletion.make_due']);
  });
});
