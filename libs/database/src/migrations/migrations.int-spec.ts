import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSource, QueryRunner } from 'typeorm';
import { createDatabase, type TestDatabase } from '#testing';
import { catalog } from '../../testing/catalog.js';
import { createDataSource } from '../typeorm.js';
import { createPool } from '../pool.js';
import { applyMigrations, findSchemaDrift } from '../schema.js';
import { migrations } from './index.js';

let database: TestDatabase;
let dataSource: DataSource;
let runner: QueryRunner;

beforeAll(async () => {
  database = await createDatabase();
  dataSource = await createDataSource(createPool({ url: database.ownerUrl })).initialize();
  runner = dataSource.createQueryRunner();
});

afterAll(async () => {
  await runner.release();
  await dataSource.destroy();
  await database.drop();
});

/** Undoes all migrations, so that tests start with an empty database. */
async function undoAll(): Promise<void> {
  for (const _ of migrations) await dataSource.undoLastMigration();
}

describe('the migrations', () => {
  it('create exactly the schema of the entities', async () => {
    expect(await findSchemaDrift(dataSource)).toEqual([]);
  });

  it('leave only sync.migrations when reverted, and create the same schema again', async () => {
    const before = await catalog(dataSource);
    await undoAll();
    const rest = await catalog(dataSource);
    expect(
      rest.filter((line) => !/^(schema sync|column sync\.migrations)/.test(line)).join('\n'),
    ).not.toMatch(
      /user_clock|request|event|subscription|episode|deletion|podcast_sync|function|trigger/,
    );
    await applyMigrations(runner);
    expect(await catalog(dataSource)).toEqual(before);
    expect(await findSchemaDrift(dataSource)).toEqual([]);
  });

  it('each revert exactly their own changes', async () => {
    await undoAll();
    for (const Migration of migrations) {
      const migration = new Migration();
      const before = await catalog(dataSource);
      await migration.up(runner);
      const after = await catalog(dataSource);
      await migration.down(runner);
      expect(await catalog(dataSource)).toEqual(before);
      await migration.up(runner);
      expect(await catalog(dataSource)).toEqual(after);
    }
    for (const Migration of migrations.toReversed()) await new Migration().down(runner);
    await applyMigrations(runner);
  });

  it('can be reverted with rows in every table', async () => {
    await dataSource.query(`
      INSERT INTO sync.user_clock VALUES ('00000000-0000-4000-8000-000000000001', now());
      INSERT INTO sync.events (user_id, kinds) VALUES ('00000000-0000-4000-8000-000000000001', 7);
      INSERT INTO sync.request
      VALUES ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002',
        now());
      INSERT INTO sync.answer
      VALUES ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002', now(),
        2, '{}');
      INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
        is_subscribed_at, subscription_changed, changed)
      VALUES ('00000000-0000-4000-8000-000000000001', 'https://u.example', gen_random_uuid(), true,
        'epoch', 'epoch', 'epoch');
      INSERT INTO deletion.deletions (user_id, subscription_id, requested)
      VALUES ('00000000-0000-4000-8000-000000000001', 1, 'epoch');
    `);
    await undoAll();
    await applyMigrations(runner);
    expect(await findSchemaDrift(dataSource)).toEqual([]);
  });
});
