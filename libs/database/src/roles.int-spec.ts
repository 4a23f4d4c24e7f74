import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, freshUser, type TestDatabase } from '#testing';
import type { DataSource } from 'typeorm';
import { createDataSource } from './data-source.js';
import { ensureGroups, ensureLogin, groups } from './roles.js';

let database: TestDatabase;
let owner: DataSource;
const logins = new Map<string, pg.Client>();
const userId = freshUser();

beforeAll(async () => {
  database = await createDatabase();
  owner = await createDataSource({ url: database.ownerUrl }).initialize();
  for (const [role, url] of Object.entries(database.urls)) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    logins.set(role, client);
  }
});

afterAll(async () => {
  await Promise.all([...logins.values()].map((client) => client.end()));
  await owner.destroy();
  await database.drop();
});

/** What a statement of a login ends with: its SQLSTATE, or `done`. Nothing of it is kept. */
async function outcome(role: string, sql: string): Promise<string> {
  const client = logins.get(role) as pg.Client;
  await client.query('BEGIN');
  try {
    await client.query(sql);
    return 'done';
  } catch (error) {
    return (error as pg.DatabaseError).code ?? String(error);
  } finally {
    await client.query('ROLLBACK');
  }
}

const refused = '42501';
const makeSubscription = `INSERT INTO subscription.subscriptions
  (user_id, feed_url, guid, is_subscribed, subscription_changed, added, changed)
  VALUES ('${userId}', 'https://u.example', gen_random_uuid(), true, 'epoch', 'epoch', 'epoch')`;
const makeEpisode = `INSERT INTO episode.episodes
  (user_id, subscription_id, changed, publish_date, sync_id, episode_guid, title, enclosure_url, episode_url)
  VALUES ('${userId}', 1, 'epoch', 'epoch', gen_random_uuid(), '', '', 'https://u.example', 'https://u.example')`;
const makeDeletion = `INSERT INTO deletion.deletions (user_id, subscription_id, requested) VALUES ('${userId}', 1, 'epoch')`;
const merge = `SELECT episode.merge_subscription('${userId}', 1, 2, now())`;

describe('the login of', () => {
  it.each([
    ['subscription', makeSubscription],
    ['subscription', 'SELECT * FROM subscription.guids, subscription.feed_urls, subscription.former_guids'],
    ['subscription', merge],
    ['episode', makeEpisode],
    ['episode', 'DELETE FROM episode.sync_ids'],
    ['episode', 'SELECT * FROM subscription.named_subscriptions, subscription.current_guids'],
    ['deletion', makeDeletion],
    ['deletion', 'DELETE FROM episode.episodes'],
    ['deletion', 'DELETE FROM episode.sync_ids'],
    [
      'deletion',
      'UPDATE subscription.subscriptions SET is_subscribed = false, subscription_changed = now(), deleted = now(), changed = now()',
    ],
    ['deletion', 'SELECT * FROM subscription.named_subscriptions'],
  ])('%s may do what it owns: %s', async (role, sql) => {
    expect(await outcome(role, sql)).toBe('done');
  });

  it.each(['subscription', 'episode', 'deletion'])('%s may lock and advance clocks and keep answers', async (role) => {
    expect(await outcome(role, `SELECT sync.begin_write('${userId}', 'r')`)).toBe('done');
    expect(await outcome(role, `INSERT INTO sync.request VALUES ('${userId}', 'r', 'p', '{}')`)).toBe('done');
    expect(await outcome(role, 'DELETE FROM sync.request')).toBe('done');
    expect(await outcome(role, 'DELETE FROM sync.user_clock')).toBe(refused);
    expect(await outcome(role, 'SELECT * FROM sync.migrations')).toBe('done');
    expect(await outcome(role, 'DELETE FROM sync.migrations')).toBe(refused);
  });

  it.each([
    ['subscription', makeEpisode],
    ['subscription', makeDeletion],
    ['subscription', 'SELECT 1 FROM episode.episodes'],
    ['subscription', 'SELECT 1 FROM deletion.deletions'],
    ['subscription', 'DELETE FROM subscription.subscriptions'],
    ['episode', makeSubscription],
    ['episode', makeDeletion],
    ['episode', merge],
    ['episode', 'SELECT 1 FROM subscription.subscriptions'],
    ['episode', 'SELECT 1 FROM subscription.guids'],
    ['episode', 'UPDATE subscription.current_guids SET guid = gen_random_uuid()'],
    ['episode', 'SELECT 1 FROM deletion.deletions'],
    ['deletion', makeSubscription],
    ['deletion', makeEpisode],
    ['deletion', merge],
    ['deletion', "UPDATE episode.episodes SET title = ''"],
    ['deletion', "UPDATE subscription.subscriptions SET feed_url = ''"],
    ['deletion', 'DELETE FROM subscription.subscriptions'],
    ['deletion', 'DELETE FROM deletion.deletions'],
    ['subscription', 'CREATE TABLE subscription.mine ()'],
    ['episode', 'CREATE TABLE sync.mine ()'],
    ['deletion', 'CREATE SCHEMA mine'],
    ['episode', 'CREATE TABLE public.mine ()'],
  ])('%s is refused what it does not own: %s', async (role, sql) => {
    expect(await outcome(role, sql)).toBe(refused);
  });

  it('nobody else may merge: the function is not for the public', async () => {
    const [row] = await owner.query<{ granted: string }[]>(
      `SELECT string_agg(a.grantee::regrole::text, ', ' ORDER BY 1) AS granted FROM pg_proc p, aclexplode(p.proacl) a
       WHERE p.proname = 'merge_subscription' AND a.grantee <> p.proowner`,
    );
    expect(row?.granted).toBe(groups.subscription);
  });
});

describe('making roles', () => {
  it('again changes nothing', async () => {
    const runner = owner.createQueryRunner();
    const roles = () =>
      runner.query("SELECT oid, rolname, rolcanlogin FROM pg_roles WHERE rolname ~ '^podcast_sync' ORDER BY 1");
    const before: unknown = await roles();
    await ensureGroups(runner);
    await ensureGroups(runner);
    expect(await roles()).toEqual(before);
    await runner.release();
  });

  it('makes groups that nobody can log in with', async () => {
    const rows = await owner.query<{ rolcanlogin: boolean }[]>(
      'SELECT rolcanlogin FROM pg_roles WHERE rolname = ANY ($1)',
      [Object.values(groups)],
    );
    expect(rows).toEqual([{ rolcanlogin: false }, { rolcanlogin: false }, { rolcanlogin: false }]);
  });

  it('makes a login once, with the password of its URL, when many do so at the same time', async () => {
    const name = `test ${randomUUID()}`;
    const password = 'it\'s "q" \\';
    const url = Object.assign(new URL(database.ownerUrl), { username: name, password }).href;
    const runners = Array.from({ length: 6 }, () => owner.createQueryRunner());
    const results = await Promise.allSettled(runners.map((runner) => ensureLogin(runner, groups.episode, url)));
    await Promise.all(runners.map((runner) => runner.release()));
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query('SELECT 1 AS n FROM subscription.current_guids LIMIT 0');
    await client.end();
    await owner.query(`DROP ROLE "${name}"`);
    expect(rows).toEqual([]);
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});
