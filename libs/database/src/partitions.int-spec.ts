import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSource, QueryRunner } from 'typeorm';
import { createDatabase, type TestDatabase } from '#testing';
import { catalog } from '../testing/catalog.js';
import { createDataSource } from './data-source.js';
import { migrations } from './migrations/index.js';
import { partitioning, partitionsOf } from './partitions.js';
import { applyMigrations, drift } from './schema.js';

let database: TestDatabase;
let dataSource: DataSource;
let runner: QueryRunner;

beforeAll(async () => {
  database = await createDatabase();
  dataSource = await createDataSource({ url: database.ownerUrl }).initialize();
  runner = dataSource.createQueryRunner();
});

afterAll(async () => {
  await runner.release();
  await dataSource.destroy();
  await database.drop();
});

/** Makes all tables anew. */
async function begin(partitions: number): Promise<void> {
  for (const _ of migrations) await dataSource.undoLastMigration();
  await applyMigrations(runner, partitions);
}

const partition = `SELECT c.oid::regclass::text AS name, c.reloptions FROM pg_class c
  WHERE c.relispartition AND c.relkind = 'r' AND c.relnamespace::regnamespace::text !~ '^pg_'`;

/** The schema but for its partitions, whose names have a number: what there is for whoever uses the tables. */
async function seen(): Promise<string[]> {
  const lines = (await catalog(dataSource)).filter((line) => !/_\d+(_|\b)/.test(line));
  // Partitioned tables and indexes are of a kind of their own, and partitions have constraints by the same names.
  const alike = lines.map((line) => line.replace(/^p /, 'r ').replace(/^I /, 'i ').replace(' ON ONLY ', ' ON '));
  return [...new Set(alike)].toSorted();
}

describe('a database whose tables are partitioned by user', () => {
  it('is for its users what one with plain tables is, and begins as it is configured', async () => {
    await begin(0);
    expect(await partitionsOf(runner)).toBe(0);
    const plain = await seen();
    expect(plain.length).toBeGreaterThan(200);
    await begin(3);
    expect(await partitionsOf(runner)).toBe(3);
    expect(await seen()).toEqual(plain);
    expect(await drift(dataSource)).toEqual([]);
  });

  it('has every table with rows of users in as many partitions, and each of them set as it should be', async () => {
    const owned = await dataSource.query<{ name: string; partitions: number }[]>(
      `SELECT c.oid::regclass::text AS name, (SELECT count(*)::int FROM pg_inherits i WHERE i.inhparent = c.oid) AS partitions
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id'
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace::regnamespace::text !~ '^pg_' ORDER BY 1`,
    );
    expect(owned.length).toBeGreaterThanOrEqual(10);
    expect(owned.filter(({ partitions }) => partitions !== 3)).toEqual([]);
    const set = (await dataSource.query<{ name: string; reloptions: string[] | null }[]>(partition)).filter(
      ({ reloptions }) => reloptions !== null,
    );
    const vacuum = ['scale_factor=0', 'threshold=2000', 'cost_delay=0'].map((option) => `autovacuum_vacuum_${option}`);
    expect(set.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      ...[0, 1, 2].map((n) => ({ name: `sync.events_${n}`, reloptions: vacuum })),
      ...['reader_sessions', 'readers', 'user_clock'].flatMap((table) =>
        [0, 1, 2].map((n) => ({ name: `sync.${table}_${n}`, reloptions: ['fillfactor=70'] })),
      ),
    ]);
  });

  it('goes on as it began: a later migration splits its tables alike, whatever is configured', async () => {
    await applyMigrations(runner, 5);
    const byUser = await partitioning(runner);
    await runner.query(
      `CREATE TABLE sync.later (user_id uuid NOT NULL, PRIMARY KEY (user_id)) ${byUser('sync.later')}`,
    );
    const made = await dataSource.query<unknown[]>("SELECT FROM pg_inherits WHERE inhparent = 'sync.later'::regclass");
    await runner.query('DROP TABLE sync.later');
    expect(made).toHaveLength(3);
  });

  it('still differs from the entities where there is a foreign key too many', async () => {
    await runner.query(`ALTER TABLE subscription.feed_urls ADD CONSTRAINT surplus
      FOREIGN KEY (user_id) REFERENCES sync.user_clock (user_id)`);
    const found = await drift(dataSource);
    await runner.query('ALTER TABLE subscription.feed_urls DROP CONSTRAINT surplus');
    expect(found.join()).toContain('DROP CONSTRAINT "surplus"');
  });

  it('still differs from the entities where a foreign key is missing', async () => {
    await runner.query('ALTER TABLE subscription.guids DROP CONSTRAINT guids_subscription_id_fkey');
    expect((await drift(dataSource)).join()).toContain('guids_subscription_id_fkey');
  });
});
