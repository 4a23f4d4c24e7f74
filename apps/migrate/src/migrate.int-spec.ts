import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog, loadConfig } from '#runtime';
import { createDatabase, startProgram } from '#testing';
import { migrate } from './migrate.js';
import { migrateConfig } from './migrate.config.js';

const log = createLog('test', 'silent');

let serverUrl: string;
let url: string;
let name: string;

beforeAll(async () => {
  const database = await createDatabase();
  serverUrl = database.ownerUrl;
  await database.drop();
});

beforeEach(async () => {
  name = `empty_${randomUUID().replaceAll('-', '')}`;
  url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  await query(maintenance(), `CREATE DATABASE ${name} TEMPLATE template0`);
});

afterEach(() => query(maintenance(), `DROP DATABASE ${name} WITH (FORCE)`));

const maintenance = () => Object.assign(new URL(serverUrl), { pathname: '/postgres' }).href;

async function query(on: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: on });
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

const run = (environment: NodeJS.ProcessEnv = {}) =>
  migrate(loadConfig(migrateConfig, { DATABASE_URL: url, ...environment }), log);

describe('migrate', () => {
  it('migrates an empty database; repeated and concurrent runs change nothing', async () => {
    await Promise.all([run(), run(), run()]);
    const applied = await query(url, 'SELECT name FROM sync.migrations ORDER BY id');
    await run();
    expect(await query(url, 'SELECT name FROM sync.migrations ORDER BY id')).toEqual(applied);
    expect(new Set(applied.map((row) => (row as { name: string }).name)).size).toBe(applied.length);
    expect(applied.length).toBeGreaterThan(0);
  });

  it('names the missing extension of Citus, and changes nothing', async () => {
    await expect(run({ DATABASE_DISTRIBUTION: 'citus' })).rejects.toThrow('CREATE EXTENSION citus');
    expect(await query(url, "SELECT to_regclass('sync.user_clock') AS clock")).toEqual([
      { clock: null },
    ]);
  });

  it('creates the logins of the given URLs', async () => {
    const login = `test_${randomUUID()}`;
    const loginUrl = Object.assign(new URL(url), { username: login, password: 'p w:/@' }).href;
    await run({ EPISODE_DATABASE_URL: loginUrl, MIGRATE_GROUPS: 'off' });
    try {
      expect(await query(loginUrl, 'SELECT * FROM episode.episodes')).toEqual([]);
      await expect(query(loginUrl, 'SELECT * FROM deletion.deletions')).rejects.toThrow(
        'permission denied',
      );
    } finally {
      await query(url, `DROP ROLE "${login}"`);
    }
  });

  it('fails with correcting statements if the account schema differs', async () => {
    await run();
    await query(url, 'ALTER TABLE account.accounts DROP COLUMN email');
    await expect(run()).rejects.toThrow(/differ from this release\.[^]*email/);
  });

  it('refuses a database of a version before 0.2.0, and changes nothing', async () => {
    await query(
      url,
      `CREATE SCHEMA sync;
       CREATE TABLE sync.migrations (id serial PRIMARY KEY, timestamp bigint, name text);
       INSERT INTO sync.migrations (timestamp, name)
       VALUES (1763715600000, 'CreateSync1763715600000')`,
    );
    const schema = () =>
      query(
        url,
        `SELECT n.nspname, c.relname FROM pg_namespace n
         LEFT JOIN pg_class c ON c.relnamespace = n.oid
         WHERE n.nspname !~ '^(pg_|information_schema)' ORDER BY 1, 2`,
      );
    const before = await schema();
    await expect(run()).rejects.toThrow(
      /created by a version before 0\.2\.0, which cannot be upgraded\. It is unchanged\./,
    );
    await expect(run()).rejects.toThrow(
      'follow docs/guide/upgrade.md, "From a version before 0.2.0"',
    );
    expect(await schema()).toEqual(before);
    expect(await query(url, 'SELECT name FROM sync.migrations')).toEqual([
      { name: 'CreateSync1763715600000' },
    ]);
  });

  it('keeps the schema of a later release', async () => {
    await run();
    await query(url, 'ALTER TABLE episode.episodes ADD COLUMN chapter text');
    await query(
      url,
      `INSERT INTO sync.migrations (timestamp, name)
       VALUES (9000000000000, 'AddChapter9000000000000')`,
    );
    await run();
    expect(await query(url, 'SELECT chapter FROM episode.episodes')).toEqual([]);
  });

  it('exits with 0 as a process once the database is migrated', async () => {
    expect(await startProgram('podcast-sync', ['migrate'], { DATABASE_URL: url })).toMatchObject({
      code: 0,
    });
    expect(await query(url, 'SELECT * FROM sync.user_clock')).toEqual([]);
  });

  it('exits with an error as a process if its configuration is invalid', async () => {
    const { code, stdout, stderr } = await startProgram('podcast-sync', ['migrate'], {
      MIGRATE_GROUPS: 'maybe',
    });
    expect(code).not.toBe(0);
    for (const variable of ['DATABASE_URL', 'MIGRATE_GROUPS'])
      expect(stdout + stderr).toContain(`${variable}: `);
  });
});
