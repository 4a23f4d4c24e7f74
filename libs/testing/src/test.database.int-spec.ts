import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from './test.database.js';

let databases: TestDatabase[];
beforeAll(async () => {
  databases = await Promise.all([createDatabase(), createDatabase()]);
});
afterAll(async () => {
  for (const database of databases) await database.drop();
});

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

describe('createDatabase', () => {
  it('creates a migrated database without rows for each caller', async () => {
    const [first, second] = databases as [TestDatabase, TestDatabase];
    const count = 'SELECT count(*)::int FROM sync.user_clock';
    expect(await query(first.ownerUrl, count)).toEqual([0]);
    await query(first.ownerUrl, 'CREATE SCHEMA mine');
    const schemas = "SELECT nspname FROM pg_namespace WHERE nspname = 'mine'";
    expect(await query(first.ownerUrl, schemas)).toEqual(['mine']);
    expect(await query(second.ownerUrl, schemas)).toEqual([]);
  });

  it('accepts the apps as their own roles, which are not the owner', async () => {
    const [{ urls }] = databases as [TestDatabase];
    for (const role of ['subscription', 'episode', 'deletion'] as const)
      expect(await query(urls[role], 'SELECT current_user::text')).toEqual([
        `podcast_sync_${role}`,
      ]);
    await expect(query(urls.episode, 'CREATE SCHEMA theirs')).rejects.toThrow(/permission denied/);
  });
});
