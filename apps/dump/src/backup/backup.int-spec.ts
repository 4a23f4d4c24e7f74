import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callProgram, eventually, Fixture, type FixtureDatabase, repository } from '#testing';
import { podcastSync } from '../../../cli/src/podcast-sync.js';
import { DumpedUser } from '../../testing/dumped-user.js';

const fixture = new Fixture();
let source: FixtureDatabase;
let folder: string;
let file: string;
beforeAll(async () => {
  source = await fixture.database('dump');
  folder = mkdtempSync(join(tmpdir(), 'backup-'));
  const user = await DumpedUser.make(source.owner);
  const subscription = await user.subscribe({ feed_url: 'https://podcast.example/\\.\n\ttab' });
  await user.upload(subscription, 3);
  await source.owner.query("INSERT INTO account.accounts (id, name) VALUES ($1, 'ann')", [user.id]);
  file = join(folder, 'first');
  await run(['backup', file], source);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await fixture.close();
});

const run = (args: readonly string[], { ownerUrl }: Pick<FixtureDatabase, 'ownerUrl'>) =>
  callProgram(podcastSync, args, { DATABASE_URL: ownerUrl });

const unpacked = () => gunzipSync(readFileSync(file)).toString('utf8');

/** Writes a changed copy of the backup. */
function changed(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, gzipSync(content));
  return path;
}

async function rowsOf({ owner }: FixtureDatabase): Promise<unknown[]> {
  const tables = [
    'sync.user_clock',
    'subscription.subscriptions',
    'episode.states',
    'account.accounts',
  ];
  const found = [];
  for (const table of tables)
    found.push(
      (await owner.query(`SELECT to_json(t) AS row FROM ${table} t ORDER BY 1::text`)).rows,
    );
  return found;
}

describe('backup', () => {
  it('writes a private file, and restore writes the same rows to an empty database', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const target = await fixture.database('dump');
    const { code, stderr } = await run(['restore', file], target);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^Restored \d+ rows in .*; keys: not in the backup\.\n$/,
      ) as string,
    });
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
  });

  it('writes every table except sync.migrations and fetched feeds', async () => {
    const { rows } = await source.owner.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
       WHERE relkind IN ('r', 'p') AND relname <> 'migrations' AND relnamespace::regnamespace::text
         NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'public', 'feed')`,
    );
    const written = [...unpacked().matchAll(/^\{"table":"([^"]+)"/gm)].map(([, name]) => name);
    expect(written.sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it('rejects an existing file, and does not change it', async () => {
    const before = readFileSync(file);
    expect(await run(['backup', file], source)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EEXIST') as string,
    });
    expect(readFileSync(file)).toEqual(before);
  });

  it('removes the file after a failure', async () => {
    const failed = join(folder, 'failed');
    const { code } = await run(['backup', failed], { ownerUrl: source.urls.dump });
    expect(code).toBe(1);
    expect(() => statSync(failed)).toThrow('ENOENT');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('removes the file after %s', async (signal) => {
    const stopped = join(folder, signal);
    await source.owner.query('BEGIN; LOCK TABLE episode.states');
    const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
    const child = spawn(process.execPath, [program, 'backup', stopped], {
      env: { PATH: process.env.PATH, DATABASE_URL: source.ownerUrl },
    });
    const [stderr, ended] = [readText(child.stderr), once(child, 'close')];
    try {
      // The backup waits for the table.
      await eventually(async () => {
        const waiting = `SELECT FROM pg_locks
          WHERE relation = 'episode.states'::regclass AND NOT granted`;
        expect((await source.owner.query(waiting)).rowCount).toBe(1);
      });
      expect(statSync(stopped).isFile()).toBe(true);
      child.kill(signal);
      expect([await ended, await stderr]).toEqual([
        [1, null],
        expect.stringContaining(`backup: stopped by ${signal}`),
      ]);
      expect(() => statSync(stopped)).toThrow('ENOENT');
    } finally {
      child.kill('SIGKILL');
      await source.owner.query('ROLLBACK');
    }
  });
});

describe('restore', () => {
  it('skips a million ids', async () => {
    const target = await fixture.database('dump');
    await run(['restore', file], target);
    const next = async ({ owner }: FixtureDatabase) =>
      Number((await owner.query("SELECT nextval('episode.episode_id') AS id")).rows[0].id);
    expect((await next(target)) - (await next(source))).toBeGreaterThan(900_000);
  });

  it('writes the rows to POSTGRES_URL, and the keys of containers to --data', async () => {
    const keys = join(folder, 'keys');
    const data = join(folder, 'data');
    const withKeys = join(folder, 'with keys');
    await callProgram(podcastSync, ['secrets', keys], {});
    await run(['backup', '--secrets', keys, withKeys], source);
    const target = await fixture.database('dump');
    const args = ['restore', withKeys, '--data', data];
    const outcome = await callProgram(podcastSync, args, { POSTGRES_URL: target.ownerUrl });
    expect(outcome).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('keys: restored') as string,
    });
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
    expect(readFileSync(join(data, 'keys/account/signing-key.json'))).toEqual(
      readFileSync(join(keys, 'account/signing-key.json')),
    );
  });

  it('rejects a truncated gzip file, and changes nothing', async () => {
    const target = await fixture.database('dump');
    const truncated = join(folder, 'truncated');
    const whole = readFileSync(file);
    writeFileSync(truncated, whole.subarray(0, whole.length - 100));
    const { code, stderr } = await run(['restore', truncated], target);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('is damaged or not a backup') as string,
    });
    expect((await target.owner.query('SELECT FROM sync.user_clock')).rowCount).toBe(0);
  });

  it.each([
    ['that is incomplete', (text: string) => text.slice(0, text.lastIndexOf('{')), 'is incomplete'],
    [
      'with fewer rows',
      (text: string) => text.replace(/^(\{"table":"account\.accounts".*\n).*\n/m, '$1'),
      'is damaged: it has',
    ],
    [
      'with another table',
      (text: string) => text.replace('"account.accounts"', '"pg_authid"'),
      'is damaged',
    ],
    [
      'with other migrations',
      (text: string) => text.replace('"migrations":["', '"migrations":["Later","'),
      'another schema',
    ],
    [
      'of a version before 0.2.0',
      (text: string) =>
        text.replace(/"migrations":\[[^\]]*\]/, '"migrations":["CreateSync1763715600000"]'),
      'cannot be upgraded',
    ],
    ['of another format', () => 'a picture\n', 'not a backup'],
  ])('rejects a file %s, and changes nothing', async (_, change, reason) => {
    const target = await fixture.database('dump');
    const bad = changed(`bad ${_}`, change(unpacked()));
    const { code, stderr } = await run(['restore', bad], target);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(reason) as string,
    });
    expect((await rowsOf(target)).flat()).toEqual([]);
  });

  it('rejects a database with data', async () => {
    const before = await rowsOf(source);
    expect(await run(['restore', file], source)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the database has data') as string,
    });
    expect(await rowsOf(source)).toEqual(before);
  });
});
