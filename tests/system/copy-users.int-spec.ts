import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callProgram, Fixture, type FixtureDatabase } from '#testing';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { ErasedUser, tracesOf } from '../../apps/deletion-worker/testing/erased-user.js';
import { copiedTables } from '../../apps/dump/src/user-copier.js';

/** Tables with rows of users that are not copied. */
const tablesLeft = {
  'account.accounts': 'accounts stay with their account app, which serves all cells',
  'account.credentials': 'of an account',
  'account.devices': 'of an account',
  'account.gpodder_sessions': 'of an account',
  'account.links': 'of an account',
  'account.logins': 'of an account',
  'account.notices': 'of an account',
  'account.oidc': 'of an account',
  'account.passkeys': 'of an account',
  'account.recovery_codes': 'of an account',
  'account.sessions': 'of an account',
  'account.settings': 'of an account',
  'deletion.erasures': 'a user who is being erased, or was, is not copied',
  'feed.imports': 'the last import, deleted after a day',
  'sync.events': 'the source announces its own changes',
};

const fixture = new Fixture();
let folder: string;
let source: FixtureDatabase;
let target: FixtureDatabase;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'copy-users-'));
  [source, target] = [
    await fixture.database('subscription'),
    await fixture.database('subscription'),
  ];
});
afterAll(async () => {
  await fixture.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A user with rows in every table and no PENDING deletion. */
async function storedUser(episodes?: number): Promise<ErasedUser> {
  const user = await ErasedUser.store(source.owner, { ...(episodes && { episodes }) });
  await source.owner.query(
    `UPDATE deletion.deletions SET status = 'FAILURE', finished = '2025-01-01', cause = 'x'
     WHERE user_id = $1 AND status = 'PENDING'`,
    [user.id],
  );
  return user;
}

async function copy(users: readonly { id: string }[], ...options: string[]) {
  const file = join(folder, 'users');
  writeFileSync(file, users.map(({ id }) => `${JSON.stringify({ id })}\n`).join(''));
  return callProgram(podcastSync, ['copy-users', '--users', file, ...options], {
    SOURCE_DATABASE_URL: source.ownerUrl,
    TARGET_DATABASE_URL: target.ownerUrl,
  });
}

/** All rows of a user in the copied tables of a database. */
async function rowsIn(
  { owner }: FixtureDatabase,
  { id }: { id: string },
): Promise<Record<string, string[]>> {
  const traces = Object.entries(await tracesOf(owner, [id]));
  return Object.fromEntries(
    traces.filter(([table]) => (copiedTables as readonly string[]).includes(table)),
  );
}

const advance = ({ owner }: FixtureDatabase, { id }: { id: string }) =>
  owner.query('SELECT sync.advance_clock($1)', [id]);

it('every table with rows of users is copied, or declared as left', async () => {
  const { rows } = await source.owner.query<{ name: string }>(
    `SELECT DISTINCT a.attrelid::regclass::text AS name FROM pg_attribute a
     JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema)'
       AND (a.attname IN ('user_id', 'account_id') OR c.oid = 'account.accounts'::regclass)`,
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual(
    [...copiedTables, ...Object.keys(tablesLeft)].toSorted(),
  );
});

describe('a copied user', () => {
  it('has all rows of the source, and no other rows change', async () => {
    const [user, other] = [await storedUser(), await storedUser()];
    const rows = await rowsIn(source, user);
    expect(Object.keys(rows).toSorted()).toEqual(copiedTables.toSorted());
    expect(await copy([user])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Copied 1 users') as string,
    });
    expect(await rowsIn(target, user)).toEqual(rows);
    expect(await rowsIn(source, user)).toEqual(rows);
    expect(await rowsIn(target, other)).toEqual({});
  });

  it('is skipped when the command runs again', async () => {
    const [first, second] = [await storedUser(), await storedUser()];
    await copy([first]);
    const { code, stderr } = await copy([first, second]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 users were already copied')]);
    expect(await rowsIn(target, second)).toEqual(await rowsIn(source, second));
  });

  it('gets row ids in the target that are higher than those of the source', async () => {
    const user = await storedUser();
    await source.owner.query('UPDATE deletion.deletions SET id = id + 5000000 WHERE user_id = $1', [
      user.id,
    ]);
    await copy([user]);
    for (const [sequence, table] of [
      ['subscription.subscription_id', 'subscription.subscriptions'],
      ['episode.episode_id', 'episode.states'],
    ]) {
      const { rows } = await target.owner.query(
        `SELECT nextval($2) > max(id) AS "isHigher" FROM ${table} WHERE user_id = $1`,
        [user.id, sequence],
      );
      expect([table, rows]).toEqual([table, [{ isHigher: true }]]);
    }
  });
});

describe('a user is refused, and the others are copied,', () => {
  it('with a later state in the target', async () => {
    const [user, other] = [await storedUser(), await storedUser()];
    await copy([user]);
    await advance(target, user);
    const before = await rowsIn(target, user);
    for (const options of [[], ['--replace']]) {
      const { code, stderr } = await copy([user, other], ...options);
      expect([code, stderr]).toEqual([
        3,
        expect.stringContaining(`${user.id}: the target has a later state`),
      ]);
    }
    expect(await rowsIn(target, user)).toEqual(before);
    expect(await rowsIn(target, other)).toEqual(await rowsIn(source, other));
  });

  it('with an earlier state in the target, unless --replace is given', async () => {
    const user = await storedUser();
    await copy([user]);
    await source.owner.query('DELETE FROM episode.sync_ids WHERE user_id = $1', [user.id]);
    await advance(source, user);
    const { code, stderr } = await copy([user]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('--replace')]);
    expect(await copy([user], '--replace')).toMatchObject({ code: 0 });
    expect(await rowsIn(target, user)).toEqual(await rowsIn(source, user));
  });

  it.each([2, 3])(
    'of a user during or after an erasure (%i), in either database',
    async (refused) => {
      const [here, there] = [await storedUser(), await storedUser()];
      const refuse = 'INSERT INTO sync.user_clock (user_id, stamp, refused) VALUES ($1, now(), $2)';
      await source.owner.query('UPDATE sync.user_clock SET refused = $2 WHERE user_id = $1', [
        here.id,
        refused,
      ]);
      await target.owner.query(refuse, [there.id, refused]);
      const { code, stderr } = await copy([here, there]);
      expect(code).toBe(3);
      for (const { id } of [here, there])
        expect(stderr).toContain(`${id}: the user is erased or being erased`);
      expect(Object.keys(await rowsIn(target, there))).toEqual(['sync.user_clock']);
    },
  );

  it('with a PENDING deletion', async () => {
    const user = await ErasedUser.store(source.owner);
    expect(await copy([user])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('PENDING') as string,
    });
    expect(await rowsIn(target, user)).toEqual({});
  });
});

describe('nothing is copied', () => {
  // The states fail while the source still sends rows, and the deletions when it has sent them all.
  it.each([
    ['episode.states', 10_000],
    ['deletion.deletions', 20],
  ])(
    'of users with a row that cannot be written to %s, and all of it afterwards',
    async (table, episodes) => {
      const [user, other] = [await storedUser(episodes), await storedUser()];
      await target.owner.query(
        `ALTER TABLE ${table} ADD CONSTRAINT refused CHECK (false) NOT VALID`,
      );
      expect(await copy([user, other])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('refused') as string,
      });
      for (const one of [user, other]) expect(await rowsIn(target, one)).toEqual({});
      await target.owner.query(`ALTER TABLE ${table} DROP CONSTRAINT refused`);
      expect(await copy([user, other])).toMatchObject({ code: 0 });
      for (const one of [user, other])
        expect(await rowsIn(target, one)).toEqual(await rowsIn(source, one));
    },
  );

  it('between different schema versions', async () => {
    const user = await storedUser();
    const { rows } = await target.owner.query<{ id: number }>(
      'DELETE FROM sync.migrations WHERE id = (SELECT max(id) FROM sync.migrations) RETURNING *',
    );
    expect(await copy([user])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('schema versions') as string,
    });
    expect(await rowsIn(target, user)).toEqual({});
    await target.owner.query(
      `INSERT INTO sync.migrations
       SELECT * FROM json_populate_recordset(NULL::sync.migrations, $1)`,
      [JSON.stringify(rows)],
    );
  });

  it('without both databases', async () => {
    const { code, stderr } = await callProgram(podcastSync, ['copy-users', '--all'], {
      SOURCE_DATABASE_URL: source.ownerUrl,
    });
    expect([code, stderr]).toEqual([78, expect.stringContaining('TARGET_DATABASE_URL')]);
  });
});
